// ridge gpus: the catalogue of devices: search, compare, explain, and recommend for a model and a goal.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/next_steps.h"
#include "cli/gpus_text.h"
#include "cli/model_argument.h"
#include "cli/next_text.h"
#include "cli/number_checks.h"
#include "cli/page_options.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "engine/model_file.h"
#include "model/inputs.h"
#include "model/reader.h"
#include "sizing/recommend.h"

namespace ridge::cli {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

struct GpusOptions {
  app::Command command;
  std::vector<std::string> name;
  std::vector<std::string> compare;
  catalogue::DeviceFilter filter;
  std::optional<double> memory_gib;
  bool families = false, capabilities = false, explain = false, json = false, csv = false;
  std::string recommend;
  std::string use = "inference", precision = "fp16", by = "performance";
  std::vector<std::string> shapes;
  sizing::Goal goal;
  size_t top = 10;
  PageOptions page;
};

void declare(CLI::App& app, GpusOptions& options) {
  app.add_option("NAME", options.name);
  app.add_option("--compare", options.compare)->expected(1, 8);
  app.add_option("--vendor", options.filter.vendor);
  app.add_option("--family", options.filter.family);
  app.add_option("--architecture", options.filter.architecture);
  app.add_option("--cc", options.filter.compute_capability);
  app.add_option("--memory", options.memory_gib)->check(not_negative());
  app.add_option("--year", options.filter.year);
  app.add_flag("--families", options.families);
  app.add_flag("--capabilities", options.capabilities);
  app.add_flag("--explain", options.explain);
  app.add_option("--recommend", options.recommend);
  app.add_option("--for", options.use);
  app.add_option("--batch,-b", options.goal.batch)->check(rows());
  app.add_option("--shape", options.shapes);
  app.add_option("--precision", options.precision);
  app.add_option("--p99-ms", options.goal.p99_ms)->check(positive());
  app.add_option("--rps", options.goal.rows_per_s)->check(positive());
  app.add_option("--budget", options.goal.usd_per_hour)->check(positive());
  app.add_option("--by", options.by);
  app.add_option("--top", options.top);
  app.add_flag("--json", options.json);
  app.add_flag("--csv", options.csv);
  declare(app, options.page);
}

int questions_of(const GpusOptions& options) {
  return (options.name.empty() ? 0 : 1) + (options.compare.empty() ? 0 : 1) + (options.families ? 1 : 0) +
         (options.capabilities ? 1 : 0) + (options.recommend.empty() ? 0 : 1);
}

constexpr const char* kOfRecommend[] = {"--for", "--batch", "--shape", "--precision", "--p99-ms",
                                        "--rps", "--by",    "--top",   "--budget"};

// Refuses options that would be ignored.
Status check_options(const CLI::App& app) {
  if (app.count("--recommend") > 0) return {};
  for (const char* name : kOfRecommend)
    if (app.count(name) > 0) return invalid(fmt::format("{} belongs to --recommend MODEL", name));
  return {};
}

// The arguments that need interpretation; an error here is wrong usage.
Result<model::Binding> complete(GpusOptions& options) {
  if (options.memory_gib) options.filter.memory_bytes = *options.memory_gib * kGib;
  if (options.json && options.csv) return Error{Code::kInvalid, "--json and --csv exclude each other"};
  if (options.families && options.csv) return Error{Code::kInvalid, "--families has no --csv form; --json has one"};
  if ((options.families || options.capabilities) && !options.page.file.empty())
    return Error{Code::kInvalid, "--html draws devices; --families and --capabilities have no page"};
  if (questions_of(options) > 1)
    return Error{Code::kInvalid, "NAME, --compare, --families, --capabilities and --recommend exclude each other"};
  RIDGE_ASSIGN(options.goal.use, sizing::use_from_name(options.use));
  RIDGE_ASSIGN(options.goal.precision, precision_from_name(options.precision));
  RIDGE_ASSIGN(options.goal.rank_by, sizing::rank_by_from_name(options.by));
  model::Binding binding;
  binding.batch = options.goal.batch;
  binding.data_sizes_at_most = true;
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, binding));
  return binding;
}

Result<Catalogue> read_tables() {
  Catalogue catalogue;
  RIDGE_ASSIGN(catalogue.devices, catalogue::catalogue());
  RIDGE_ASSIGN(catalogue.prices, catalogue::cloud_prices(catalogue.devices));
  RIDGE_ASSIGN(catalogue.capabilities, catalogue::capabilities());
  RIDGE_ASSIGN(catalogue.peaks, catalogue::peak_tables());
  return catalogue;
}

std::vector<catalogue::CatalogueDevice> accepted(const Catalogue& catalogue, const GpusOptions& options) {
  std::vector<catalogue::CatalogueDevice> devices;
  for (const catalogue::CatalogueDevice& device : catalogue.devices)
    if (catalogue::accepts(options.filter, device)) devices.push_back(device);
  return devices;
}

int wrong_usage(const Error& error) {
  fail("gpus", error);
  return kUsage;
}

// `exit`, once the page is written.
int draw(const GpusOptions& options, const Json& members, int exit) {
  const Status written = write_page(options.command, options.page, members);
  return written ? exit : fail("gpus", written.error());
}

// After several GPUs: the sheet of the one with the fastest memory, beside the next.
std::vector<std::string> next_of(std::span<const catalogue::CatalogueDevice> devices) {
  std::vector<std::pair<double, std::string>> fastest;
  for (const catalogue::CatalogueDevice& device : devices)
    fastest.emplace_back(-device.bytes_per_s.value_or(0), app::shell_word(device.name));
  std::ranges::stable_sort(fastest, {}, &std::pair<double, std::string>::first);
  std::vector<std::string> lines = {"ridge gpus " + fastest.front().second};
  if (fastest.size() > 1)
    lines.push_back(fmt::format("ridge gpus --compare {} {}", fastest[0].second, fastest[1].second));
  return lines;
}

// After one GPU: its formulas, and a model on it.
std::vector<std::string> next_of(const catalogue::CatalogueDevice& device, bool explained) {
  const std::string name = app::shell_word(device.name);
  std::vector<std::string> lines = {"ridge plan resnet50 --device " + name};
  if (!explained) lines.insert(lines.begin(), "ridge gpus " + name + " --explain");
  return lines;
}

// The plan for the first, and its sheet; where none meets the goal, how fast they are without one; where the first are
// equal, the batch at which they are not.
std::vector<std::string> next_of(const GpusOptions& options, const sizing::Recommendation& result,
                                 const std::optional<sizing::Recommendation>& apart) {
  const std::string model = model_words(options.recommend, options.shapes, "");
  const std::string words = model + (options.goal.batch > 1 ? fmt::format(" --batch {}", options.goal.batch) : "");
  if (apart) return {fmt::format("ridge gpus --recommend {} --batch {}", model, apart->goal.batch)};
  if (result.ranked.empty())
    return {fmt::format("ridge gpus --recommend {} --for {} --precision {}", words, options.use, options.precision)};
  const std::string first = app::shell_word(result.ranked.front().device.name);
  std::string plan = fmt::format("ridge plan {} --device {}", words, first);
  if (options.goal.use == sizing::Use::kInference) plan += " --precision " + options.precision;
  return {plan, "ridge gpus " + first};
}

int show_devices(const Catalogue& catalogue, const GpusOptions& options,
                 std::span<const catalogue::CatalogueDevice> devices) {
  const Json json = {{"devices", json_of(devices)}};
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(list_csv(catalogue, devices));
  } else if (devices.empty()) {
    say("ridge gpus: no device of the catalogue matches; 'ridge gpus' lists all");
  } else {
    print(list_text(catalogue, devices));
    print_next(next_of(devices));
  }
  return devices.empty() ? static_cast<int>(kNo) : draw(options, json, kDone);
}

int show_capabilities(const Catalogue& catalogue, const GpusOptions& options) {
  std::vector<catalogue::Capability> shown = catalogue.capabilities;
  if (!options.filter.compute_capability.empty()) {
    auto one = catalogue::find_capability(catalogue.capabilities, options.filter.compute_capability);
    if (!one) return wrong_usage(one.error());
    shown = {*one};
  }
  if (options.json) {
    print_json(options.command, Json{{"capabilities", json_of(shown)}});
  } else if (options.csv) {
    print_verbatim(capabilities_csv(shown));
  } else {
    print(capabilities_text(catalogue, shown));
    print_next({"ridge gpus --cc " + app::shell_word(shown.back().version)});
  }
  return kDone;
}

int show_comparison(const Catalogue& catalogue, const GpusOptions& options) {
  std::vector<catalogue::CatalogueDevice> devices;
  for (const std::string& name : options.compare) {
    auto device = catalogue::find_device(catalogue.devices, name);
    if (!device) return wrong_usage(device.error());
    devices.push_back(*device);
  }
  if (options.json || options.csv) return show_devices(catalogue, options, devices);
  print(compare_text(catalogue, devices));
  print_next({"ridge gpus " + app::shell_word(devices.front().name) + " --explain",
              "ridge gpus --recommend resnet50 --by watt"});
  return draw(options, {{"devices", json_of(devices)}}, kDone);
}

int show_named(const Catalogue& catalogue, const GpusOptions& options) {
  std::vector<catalogue::CatalogueDevice> devices;
  std::string name = fmt::format("{}", fmt::join(options.name, " "));
  for (const catalogue::CatalogueDevice* device : catalogue::match_devices(catalogue.devices, name))
    if (catalogue::accepts(options.filter, *device)) devices.push_back(*device);
  const auto known = [&](const std::string& word) {
    return !catalogue::match_devices(catalogue.devices, word).empty();
  };
  if (devices.empty() && options.name.size() > 1 && std::ranges::all_of(options.name, known))
    return wrong_usage(invalid(
        fmt::format("'{}' are several devices; --compare shows them side by side", fmt::join(options.name, "', '"))));
  if (std::optional<catalogue::CatalogueDevice> slice = catalogue::mig_slice(catalogue.devices, name))
    devices = {std::move(*slice)};
  if (devices.empty()) {
    auto none = catalogue::find_device(catalogue.devices, name);
    return none ? show_devices(catalogue, options, {}) : wrong_usage(none.error());
  }
  if (devices.size() > 1 || options.csv) return show_devices(catalogue, options, devices);
  const DeviceSheet sheet = sheet_of(catalogue, devices.front());
  const Json json = json_of(sheet);
  if (options.json) {
    print_json(options.command, json);
  } else {
    print(sheet_text(catalogue, sheet, options.explain));
    print_next(next_of(devices.front(), options.explain));
  }
  return draw(options, json, kDone);
}

// fetch → read → estimate → rank
int show_recommendation(const Catalogue& catalogue, const GpusOptions& options, model::Binding binding) {
  std::string file = options.recommend;
  if (has_language_config(file))
    return fail("gpus", invalid(fmt::format("{} is a language model: {} compares GPUs for it", app::shell_word(file),
                                            compare_gpus_line(file))));
  if (Status fetched = fetch_model("gpus", file); !fetched) return fail("gpus", fetched.error());
  auto model = engine::read_model(file);
  if (!model) return fail("gpus", model.error());
  const std::vector<catalogue::CatalogueDevice> devices = accepted(catalogue, options);
  const auto at = [&](int64_t batch) -> Result<sizing::Recommendation> {
    binding.batch = batch;
    RIDGE_ASSIGN(const model::Graph graph, model->bind(binding));
    RIDGE_TRY(check_open_dimensions(options.recommend, graph));
    sizing::Goal goal = options.goal;
    goal.batch = batch;
    RIDGE_ASSIGN(const sizing::Workload workload, sizing::workload_of(graph, goal));
    return sizing::recommend(devices, catalogue.prices, workload, goal);
  };
  const Result<sizing::Recommendation> ranked = at(options.goal.batch);
  if (!ranked) return wrong_usage(ranked.error());
  const sizing::Recommendation& result = *ranked;
  const std::optional<sizing::Recommendation> apart = sizing::told_apart(result, at);
  RecommendedDevices recommended{.result = result, .apart = {}, .model = options.recommend};
  if (apart) recommended.apart = ranked_at(*apart);
  const Json json = json_of(recommended);
  if (options.json) {
    print_json(options.command, json);
  } else if (options.csv) {
    print_verbatim(recommendation_csv(result));
  } else {
    print(fmt::format("{} · {} · batch {} · {}\n", options.recommend, sizing::use_name(options.goal.use),
                      options.goal.batch, precision_name(options.goal.precision)));
    print(recommendation_text(recommended, options.top));
    print_next(next_of(options, result, apart));
  }
  return draw(options, json, result.ranked.empty() ? kNo : kDone);
}

}  // namespace

int gpus(std::span<const std::string> arguments) {
  GpusOptions options;
  options.command = typed("gpus", arguments);
  CLI::App app;
  declare(app, options);
  if (ParseResult parsed = parse(app, "gpus", arguments); !parsed.go_on) return parsed.exit;
  if (Status used = check_options(app); !used) return wrong_usage(used.error());
  Result<model::Binding> binding = complete(options);
  if (!binding) return wrong_usage(binding.error());
  Result<Catalogue> catalogue = read_tables();
  if (!catalogue) return fail("gpus", catalogue.error());
  if (!options.recommend.empty()) return show_recommendation(*catalogue, options, *binding);
  if (options.capabilities) return show_capabilities(*catalogue, options);
  if (!options.compare.empty()) return show_comparison(*catalogue, options);
  if (!options.name.empty()) return show_named(*catalogue, options);
  std::vector<catalogue::CatalogueDevice> devices = accepted(*catalogue, options);
  if (!options.families) return show_devices(*catalogue, options, devices);
  const std::vector<catalogue::Family> families = catalogue::families_of(devices);
  if (options.json) {
    print_json(options.command, {{"families", json_of(families)}});
  } else {
    print(families_text(families));
    if (!devices.empty()) print_next({"ridge gpus --family " + app::shell_word(devices.back().family)});
  }
  return kDone;
}

}  // namespace ridge::cli
