// SPDX-License-Identifier: Apache-2.0

package org.example.report;

import im.app.plugin.AppExtension;
import im.app.plugin.Endpoint;
import im.app.plugin.EndpointOutput;
import im.app.plugin.EndpointRequest;
import im.app.plugin.api.Page;
import im.app.plugin.api.users.QueryUserPage;
import im.app.plugin.api.users.User;
import im.app.plugin.json.JsonSchema;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;

/**
 * Reports the number of users who registered on each of the last days (in UTC), and the list of
 * them, to administrators who may query users.
 *
 * <pre>
 * GET /plugins/endpoints/admin-report/days?days=30        the numbers as JSON
 * GET /plugins/endpoints/admin-report/users.csv?days=30   the users as CSV, streamed
 * GET /plugins/endpoints/admin-report/page?days=30        the numbers as a page
 * </pre>
 */
public class AdminReport extends AppExtension {

    /** The parameters. */
    public record Query(@JsonSchema(minimum = 1, maximum = 92, defaultValue = "30", description = "Number of days, including today.") int days) {}

    /** A day. */
    public record Day(@JsonSchema(format = "date") String date, long registered) {}

    /** The numbers. */
    public record Report(long total, List<Day> days) {}

    @Override
    public List<Endpoint> getEndpoints() {
        return List.of(
                Endpoint.get("/days").summary("Count new users by day").permission("USER_QUERY").query(Query.class).result(Report.class)
                        .handler("count", this::count),
                Endpoint.get("/users.csv").summary("Export new users").permission("USER_QUERY").timeout(Duration.ofMinutes(10)).query(Query.class)
                        .contentType("text/csv; charset=utf-8").handler("list", this::list),
                Endpoint.get("/page").summary("Show new users by day").permission("USER_QUERY").query(Query.class)
                        .contentType("text/html; charset=utf-8").handler("page", this::page));
    }

    private static LocalDate firstDay(Query query) {
        return LocalDate.now(ZoneOffset.UTC).minusDays(query.days() - 1L);
    }

    private static Instant begin(LocalDate day) {
        return day.atStartOfDay(ZoneOffset.UTC).toInstant();
    }

    private Report count(EndpointRequest<Query, Void> request) {
        List<Day> days = new ArrayList<>();
        long total = 0;
        LocalDate first = firstDay(request.query());
        for (LocalDate day : first.datesUntil(first.plusDays(request.query().days())).toList()) {
            Page<User> page = api().users().queryPage(new QueryUserPage()
                    .registrationDateStart(begin(day)).registrationDateEnd(begin(day.plusDays(1))).size(1).exactTotal(true));
            long registered = page == null ? 0 : page.total();
            days.add(new Day(day.toString(), registered));
            total += registered;
        }
        return new Report(total, days);
    }

    private void list(EndpointRequest<Query, Void> request, EndpointOutput out) throws IOException {
        out.write("id,name,registered,active\r\n");
        // The end is fixed, because users who register meanwhile would shift the pages.
        QueryUserPage input = new QueryUserPage().registrationDateStart(begin(firstDay(request.query()))).registrationDateEnd(Instant.now()).size(500);
        for (int n = 0; ; n++) {
            Page<User> page = api().users().queryPage(input.page(n));
            if (page == null || page.records().isEmpty()) {
                return;
            }
            for (User u : page.records()) {
                out.write(u.id() + "," + csv(u.name()) + "," + u.registrationDate() + "," + u.isActive() + "\r\n");
            }
            out.flush();
        }
    }

    /** Spreadsheets would evaluate a text that begins with one of these characters as a formula. */
    private static String csv(String text) {
        boolean formula = !text.isEmpty() && "=+-@\t\r".indexOf(text.charAt(0)) >= 0;
        return '"' + (formula ? "'" : "") + text.replace("\"", "\"\"") + '"';
    }

    private void page(EndpointRequest<Query, Void> request, EndpointOutput out) throws IOException {
        Report report = count(request);
        long most = Math.max(1, report.days().stream().mapToLong(Day::registered).max().orElse(0));
        out.write("<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>New users</title><h1>%d new users in %d days</h1>\n"
                .formatted(report.total(), report.days().size()));
        out.write("<p><a href=\"users.csv?days=%d\">As CSV</a><table>".formatted(report.days().size()));
        for (Day day : report.days()) {
            out.write("<tr><td>%s<td>%d<td><meter max=\"%d\" value=\"%d\"></meter>\n".formatted(day.date(), day.registered(), most, day.registered()));
        }
        out.write("</table></html>");
    }
}
