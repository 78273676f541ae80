// --html FILE and --lang, of every verb that draws a page.
#pragma once

#include <string>
#include <string_view>

#include "app/about.h"
#include "base/json.h"
#include "base/language.h"
#include "base/result.h"

namespace CLI {
class App;
}  // namespace CLI

namespace ridge::cli {

struct PageOptions {
  std::string file;      // empty: no page
  std::string language;  // "en", "zh"; empty: the system's
  // The columns of a document's lists: list_columns() of cli/document_schemas.h in ridge. A program sets it once.
  static inline Json (*columns)(const Json& document) = nullptr;
};
// --lang alone, with its check.
// --seconds: a positive number.
void declare_seconds(CLI::App& app, double& seconds);
void declare_language(CLI::App& app, std::string& language);
void declare(CLI::App& app, PageOptions& options);

// The chosen language, else the system's.
Language language_of_option(const std::string& language);

// Writes the document into the file of -o, and the page: both are tried, the first error is returned.
Status keep_and_draw(const app::Command& command, const std::string& output, const PageOptions& page,
                     const Json& members);
// Writes the page of a document, whichever command wrote that, and says so.
Status draw_page(const app::Command& command, const PageOptions& options, const Json& document);
// Writes the verb's page, if one is asked for, and says so.
Status write_page(const app::Command& command, const PageOptions& options, const Json& members);

}  // namespace ridge::cli
