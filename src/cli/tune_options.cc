#include "cli/tune_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/model_options.h"
#include "tune/repository.h"
#include "tune/variants.h"

namespace ridge::cli {
namespace {

// Batches are searched: rows given by --shape would be searched on top.
Status check_rows(const TuneRequest& request) {
  if (request.options.max_batch == 1 || !gives_rows(request.binding)) return {};
  return Error{
      Code::kInvalid,
      "--shape gives an input several rows, but its first dimension is the batch, which tune searches itself: give 1 "
      "there, or --max-batch 1 if it is not a batch"};
}

// A tuning.json, or the folder that holds it: of a model in a repository.
Result<tune::Recorded> read_recorded(const std::string& given) {
  const std::string path = std::filesystem::is_directory(given) ? given + "/tuning.json" : given;
  RIDGE_ASSIGN(const std::string text, read_file(path));
  RIDGE_ASSIGN(const Json json, parse_json(text, "the stored result " + path));
  Result<tune::Recorded> recorded = tune::recorded_from_json(json);
  return recorded ? recorded : wrap(recorded.error(), "the stored result " + path);
}

// "auto", or names of variants separated by commas.
Result<std::optional<std::vector<std::string>>> variants_of(const std::string& text) {
  std::optional<std::vector<std::string>> variants;
  if (text == "auto") return variants;
  variants.emplace();
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    variants->push_back(text.substr(at, end - at));
    if (variants->back() != "fp32") RIDGE_TRY(tune::variant_precision(variants->back()));
    at = end + 1;
  }
  return variants;
}

}  // namespace

void declare(CLI::App& app, TuneOptions& options) {
  app.add_option("MODEL", options.model)->required();
  app.add_option("--output,-o", options.repository);
  app.add_option("--name", options.name);
  app.add_option("--shape", options.shapes);
  app.add_option("--objective", options.objective)->check(CLI::IsMember({"throughput", "latency", "energy", "cost"}));
  app.add_option("--p99-ms", options.p99_ms)->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds)->check(CLI::PositiveNumber);
  app.add_option("--trials", options.trials)->check(CLI::NonNegativeNumber);
  app.add_option("--max-batch", options.max_batch)->check(CLI::PositiveNumber);
  app.add_option("--threads,-t", options.threads)->check(CLI::PositiveNumber);
  app.add_option("--engine", options.engine);
  app.add_option("--precision", options.precision);
  declare_accuracy(app, options.accuracy);
  app.add_option("--guard-seconds", options.guard_seconds)->check(CLI::PositiveNumber);
  app.add_option("--engine-library", options.engine_library);
  app.add_option("--engine-option", options.engine_options);
  app.add_option("--store", options.store);
  app.add_option("--search", options.search)->check(CLI::IsMember({"quick", "full"}));
  app.add_option("--compare", options.compare);
  app.add_option("--tolerance", options.strictness.tolerance_percent)->check(CLI::NonNegativeNumber);
  app.add_flag("--absolute", options.strictness.absolute);
  app.add_option("--html", options.html);
  app.add_option("--lang", options.language);
  app.add_flag("--overwrite", options.overwrite);
  app.add_flag("--fresh", options.fresh);
  app.add_flag("--json", options.json);
}

bool gives_rows(const model::Binding& binding) {
  return std::any_of(binding.shapes.begin(), binding.shapes.end(),
                     [](const auto& given) { return !given.second.empty() && given.second[0] > 1; });
}

Result<TuneRequest> request_of(const TuneOptions& options) {
  TuneRequest request;
  request.options = options;
  if (options.name.empty())
    request.options.name = tune::entry_name(options.model);
  else
    RIDGE_TRY(tune::check_entry_name(options.name));
  for (const std::string& shape : options.shapes) RIDGE_TRY(model::parse_shape_option(shape, request.binding));
  RIDGE_TRY(check_rows(request));
  request.engine = options.engine == kAnyEngine ? "onnxruntime" : options.engine;
  RIDGE_ASSIGN(request.variants, variants_of(options.precision));
  RIDGE_ASSIGN(request.samples, sample_options(options.accuracy));
  RIDGE_ASSIGN(request.guard, guard_limits(options.accuracy));
  RIDGE_ASSIGN(request.evaluation, evaluation_options(options.accuracy));
  RIDGE_ASSIGN(request.goal.objective, tune::objective_from_name(options.objective));
  RIDGE_ASSIGN(request.language, report::language_from_name(options.language));
  request.goal.p99_ms = options.p99_ms;
  RIDGE_ASSIGN(request.engine_options, parse_engine_options(options.engine_options));
  if (!options.compare.empty()) {
    RIDGE_ASSIGN(request.recorded, read_recorded(options.compare));
    request.goal.objective = request.recorded->objective;
  }
  return request;
}

}  // namespace ridge::cli
