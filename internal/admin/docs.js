// SPDX-License-Identifier: Apache-2.0

window.onload = () => {
  window.ui = SwaggerUIBundle({
    url: "docs",
    dom_id: "#swagger-ui",
    deepLinking: true,
    docExpansion: "none",
    filter: true,
    displayRequestDuration: true,
    persistAuthorization: false,
    validatorUrl: null,
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    plugins: [SwaggerUIBundle.plugins.DownloadUrl],
    layout: "StandaloneLayout",
  });
};
