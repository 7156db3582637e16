import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

/**
 * The package adds its style element while it loads; the content security policy forbids that, so its file is
 * imported.
 */
const toasterStyles: Plugin = {
  name: "toaster-styles",
  enforce: "pre",
  transform(code, id) {
    if (!/node_modules\/sonner\/dist\/index\.m?js/.test(id)) return null;
    return code.replace(/^__insertCSS\(.*\);$/m, "");
  },
};

/**
 * The editor's rules go into a constructed style sheet, as they do in a shadow root, instead of into a style element.
 */
const editorStyles: Plugin = {
  name: "editor-styles",
  enforce: "pre",
  transform(code, id) {
    if (!/node_modules\/style-mod\//.test(id)) return null;
    return code.replace("!root.head && root.adoptedStyleSheets", "root.adoptedStyleSheets");
  },
};

export default defineConfig({
  base: "/console/",
  plugins: [toasterStyles, editorStyles, react(), tailwindcss()],
  build: {
    target: "es2023",
    // Assets within scripts would need data: addresses for scripts and fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    emptyOutDir: true,
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(
      ["/api", "/trpc", "/mcp", "/readyz", "/healthz", "/metrics", "/docs", "/openapi.json"].map(
        (path) => [path, "http://127.0.0.1:3100"],
      ),
    ),
  },
});
