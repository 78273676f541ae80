// ridge show: a kept document, as its verb showed it: as text, or as its page.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/kept.h"
#include "cli/document_schemas.h"
#include "cli/kept.h"
#include "cli/next_text.h"
#include "cli/page_options.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "report/page.h"

namespace ridge::cli {
namespace {

constexpr const char* kShowVerb = "show";

struct ShownVerb {
  std::string_view verb;
  Status (*show)(const Json& document);
};
constexpr ShownVerb kShownVerbs[] = {{"bench", show_bench},
                                     {"bench decoder", show_bench_decoder},
                                     {"bench device", show_bench_device},
                                     {"bench server", show_bench_server},
                                     {"doctor", show_doctor},
                                     {"lab", show_lab},
                                     {"plan", show_plan},
                                     {"power sweep", show_power_sweep},
                                     {"size", show_plan},
                                     {"tune", show_tune},
                                     {"tune language", show_tune_language}};

// "2026-11-23T12:00:00Z, ridge 0.1.0, AMD EPYC 9B45 (2 CPUs): ridge bench m.onnx".
std::string origin_of(const app::About& about) {
  const std::string machine =
      about.machine ? fmt::format(", {} ({} CPUs)", about.machine->name, about.machine->cpus) : "";
  return fmt::format("{}, ridge {}{}: {}", about.command.date, about.version, machine, about.command.line);
}

Status show_document(const Json& document, const std::string& file) {
  const app::About about = app::about_of(document);
  const auto shown = std::ranges::find(kShownVerbs, about.command.verb, &ShownVerb::verb);
  if (shown == std::end(kShownVerbs)) {
    std::string known;
    for (const ShownVerb& row : kShownVerbs) known += (known.empty() ? "" : ", ") + std::string(row.verb);
    return invalid(fmt::format("a document of `ridge {}` is not shown; those of {} are", about.command.verb, known));
  }
  print(origin_of(about));
  print("");
  RIDGE_TRY(shown->show(document));
  print_next(
      again_lines(about.command.line, file, about.command.verb.starts_with("bench") && !document.contains("cards")));
  return {};
}

int show_schema(const std::string& kind) {
  const Result<Json> schema = document_schema(kind);
  if (!schema) {
    const int failed = fail(kShowVerb, schema.error());
    return schema.error().code == Code::kInvalid ? kUsage : failed;
  }
  return print_verbatim(dump_json(*schema, true)), kDone;
}

}  // namespace

int show(std::span<const std::string> arguments) {
  std::string file, schema;
  bool json = false;
  PageOptions page;
  CLI::App app;
  CLI::Option* given = app.add_option("FILE", file);
  app.add_option("--schema", schema)->excludes(given);
  app.add_flag("--json", json);
  declare(app, page);
  if (ParseResult parsed = parse(app, kShowVerb, arguments); !parsed.go_on) return parsed.exit;
  if (!schema.empty()) return show_schema(schema);
  if (file.empty()) return fail(kShowVerb, invalid("a FILE is needed, or --schema KIND")), kUsage;
  const Result<Json> document = app::read_document(file);
  if (!document) return fail(kShowVerb, document.error());
  if (json) return print_verbatim(dump_json(*document, true)), kDone;
  const Status shown =
      page.file.empty() ? show_document(*document, file) : draw_page(typed(kShowVerb, arguments), page, *document);
  return shown ? static_cast<int>(kDone) : fail(kShowVerb, wrap(shown.error(), file));
}

}  // namespace ridge::cli
