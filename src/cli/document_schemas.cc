#include "cli/document_schemas.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/about.h"
#include "app/bench.h"
#include "app/bench_decoder.h"
#include "app/compare.h"
#include "app/describe.h"
#include "app/describe_language.h"
#include "app/history.h"
#include "app/kept.h"
#include "app/plan.h"
#include "app/tune.h"
#include "base/figure.h"
#include "base/schema.h"
#include "cli/bench_device_text.h"
#include "cli/document_kind.h"
#include "cli/gpus_text.h"
#include "cli/kept.h"
#include "client/server_measurement.h"
#include "doctor/finding.h"
#include "doctor/inventory.h"
#include "explain/answer.h"
#include "limits/accelerator/device_measurement.h"
#include "power/commands.h"
#include "power/overview.h"
#include "power/sweep.h"
#include "tune/language/tuning.h"
#include "tune/share/co_located_tuning.h"
#include "zoo/zoo.h"

namespace ridge::cli {
namespace {

struct NextLines {
  std::vector<std::string> lines;
};
void visit_fields(auto& visit, Is<NextLines> auto& next) {
  visit.unless_empty("next", next.lines, means("the command lines that the text ends with"));
}

struct Past {
  std::vector<app::PastResult> results;
};
void visit_fields(auto& visit, Is<Past> auto& past) { visit("results", past.results, means("oldest first")); }

struct Devices {
  std::vector<catalogue::CatalogueDevice> devices;
};
void visit_fields(auto& visit, Is<Devices> auto& of) { visit("devices", of.devices); }

struct Families {
  std::vector<catalogue::Family> families;
};
void visit_fields(auto& visit, Is<Families> auto& of) { visit("families", of.families); }

struct Capabilities {
  std::vector<catalogue::Capability> capabilities;
};
void visit_fields(auto& visit, Is<Capabilities> auto& of) { visit("capabilities", of.capabilities); }

constexpr DocumentKind kKinds[] = {
    {"about", fields_of<app::About>},
    {"bench", fields_of<OnlyAbout, measure::Measurement>},
    {"bench-decoder", fields_of<OnlyAbout, app::DecoderMeasurement>},
    {"bench-device", fields_of<OnlyAbout, CpuReport>},
    {"bench-device-gpu", fields_of<OnlyAbout, limits::accelerator::DeviceMeasurement>},
    {"bench-server", fields_of<OnlyAbout, client::ServerMeasurement, NextLines>},
    {"compare", fields_of<OnlyAbout, app::Comparison>},
    {"describe", fields_of<OnlyAbout, app::ModelDescription>},
    {"describe-language", fields_of<OnlyAbout, app::LanguageDescription>},
    {"doctor", fields_of<OnlyAbout, doctor::Diagnosis, doctor::Inventory>},
    {"explain", fields_of<OnlyAbout, explain::Explanation>},
    {"gpus", fields_of<OnlyAbout, Devices>},
    {"gpus-capabilities", fields_of<OnlyAbout, Capabilities>},
    {"gpus-device", fields_of<OnlyAbout, DeviceSheet>},
    {"gpus-families", fields_of<OnlyAbout, Families>},
    {"gpus-recommend", fields_of<OnlyAbout, RecommendedDevices>},
    {"history", fields_of<OnlyAbout, Past>},
    {"lab", nullptr},  // these of ridge-lab (cli/lab.cc)
    {"lab-list", nullptr},
    {"lab-occupancy", nullptr},
    {"make", fields_of<OnlyAbout, zoo::ZooDescription>},
    {"plan", fields_of<OnlyAbout, app::ModelPlan>},
    {"plan-language", fields_of<OnlyAbout, app::LlmPlan>},
    {"power", fields_of<OnlyAbout, power::Overview>},
    {"power-set", fields_of<OnlyAbout, power::Commands>},
    {"power-sweep", fields_of<OnlyAbout, power::Sweep>},
    {"size", fields_of<OnlyAbout, app::ModelPlan>},
    {"size-language", fields_of<OnlyAbout, app::LlmPlan>},
    {"size-serving", fields_of<OnlyAbout, app::ServingPlan>},
    {"tune", fields_of<OnlyAbout, app::TuneResult, NextLines>},
    {"tune-language", fields_of<OnlyAbout, tune::language::LanguageTuning, NextLines>},
    {"tune-share", fields_of<OnlyAbout, tune::share::CoLocatedTuning, NextLines>},
};

// Of every list beneath `schema`, by its path: "points", "cards.batches".
void add_columns(const Json& schema, const std::string& path, Json& lists) {
  if (!schema.contains("properties")) return;
  for (const auto& [name, member] : schema["properties"].items()) {
    const std::string here = path.empty() ? name : path + "." + name;
    const Json& element = member.contains("items") ? member["items"] : member;
    add_columns(element, here, lists);
    if (&element == &member || !element.contains("properties")) continue;
    if (const std::vector<Column> columns = ridge::columns_of(element); !columns.empty())
      lists[here] = json_of(columns);
  }
}

}  // namespace

Result<Json> document_schema(std::string_view kind) {
  const auto* row = std::ranges::find(kKinds, kind, &DocumentKind::name);
  if (row != std::end(kKinds) && row->describe == nullptr) return lab_schema(kind);
  return schema_of_kind(kKinds, kind);
}

Json element_of(std::string_view kind, const char* member) {
  const Result<Json> schema = document_schema(kind);
  return schema ? schema->at("properties").at(member).at("items") : Json::object({{"properties", Json::object()}});
}

Json list_columns(const Json& document) {
  std::string verb = app::about_of(document).command.verb;
  std::ranges::replace(verb, ' ', '-');
  Json lists = Json::object();
  for (const DocumentKind& kind : kKinds) {
    if (kind.describe == nullptr || (kind.name != verb && !kind.name.starts_with(verb + "-"))) continue;
    const Json schema = schema_of_kind(kind);
    const auto has = [&](const Json& name) { return document.contains(name.get<std::string>()); };
    if (!std::ranges::all_of(schema.at("required"), has)) continue;
    add_columns(schema, "", lists);
    break;
  }
  return lists;
}

}  // namespace ridge::cli
