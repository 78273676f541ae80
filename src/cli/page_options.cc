#include "cli/page_options.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/number_checks.h"
#include "cli/terminal.h"
#include "report/page.h"

namespace ridge::cli {

void declare_seconds(CLI::App& app, double& seconds) { app.add_option("--seconds", seconds)->check(positive()); }

void declare_language(CLI::App& app, std::string& language) {
  app.add_option("--lang", language)->check(CLI::IsMember({"en", "zh"}));
}

void declare(CLI::App& app, PageOptions& options) {
  app.add_option("--html", options.file);
  declare_language(app, options.language);
}

Language language_of_option(const std::string& language) {
  return language.empty() ? language_of_system() : language_of(language);
}

Status keep_and_draw(const app::Command& command, const std::string& output, const PageOptions& page,
                     const Json& members) {
  const Status kept = keep(command, output, members);
  const Status drawn = write_page(command, page, members);
  return kept ? drawn : kept;
}

Status draw_page(const app::Command& command, const PageOptions& options, const Json& document) {
  const Json columns = PageOptions::columns != nullptr ? PageOptions::columns(document) : Json::object();
  RIDGE_ASSIGN(const std::string text, report::page(document, columns, language_of_option(options.language)));
  return write_result(command, options.file, text);
}

Status write_page(const app::Command& command, const PageOptions& options, const Json& members) {
  if (options.file.empty()) return {};
  return draw_page(command, options, document(command, members));
}

}  // namespace ridge::cli
