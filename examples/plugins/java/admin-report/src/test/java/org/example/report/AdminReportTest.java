// SPDX-License-Identifier: Apache-2.0

package org.example.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import im.app.plugin.AppException;
import im.app.plugin.StatusCode;
import im.app.plugin.test.PluginRunner;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class AdminReportTest {

    private static Map<String, Object> user(long id, String name) {
        return Map.of("id", id, "name", name, "registrationDate", "2026-01-02T03:04:05Z", "isActive", true);
    }

    @Test
    void reports() throws Exception {
        try (PluginRunner plugin = PluginRunner.of(AdminReportPlugin.class).answer("queryUserPage", input -> switch (String.valueOf(input.get("page"))) {
            case "0" -> Map.of("records", List.of(user(1, "Ann \"A\""), user(2, "=1+1")), "total", 2);
            case "null" -> Map.of("records", List.of(), "total", 7);
            default -> null;
        }).start()) {
            AdminReport.Report report = plugin.serve("count", Map.of("days", 3), null).data(AdminReport.Report.class);
            assertEquals(21, report.total());
            assertEquals(3, report.days().size());
            assertTrue(LocalDate.parse(report.days().get(2).date()).isAfter(LocalDate.now(ZoneOffset.UTC).minusDays(2)));
            assertEquals("id,name,registered,active\r\n1,\"Ann \"\"A\"\"\",2026-01-02T03:04:05Z,true\r\n2,\"'=1+1\",2026-01-02T03:04:05Z,true\r\n",
                    plugin.serve("list", Map.of("days", 3), null).text());
            String page = plugin.serve("page", Map.of("days", 2), null).text();
            assertTrue(page.contains("<h1>14 new users in 2 days</h1>") && page.contains("href=\"users.csv?days=2\""), page);
            AppException e = assertThrows(AppException.class, () -> plugin.serve("count", Map.of("days", "three"), null));
            assertEquals(StatusCode.ILLEGAL_ARGUMENT, e.code());
        }
    }
}
