#include "cli/tune_options.h"

#include <algorithm>
#include <filesystem>

#include "base/units.h"
#include "tune/repository.h"

namespace ridge::cli {
namespace {

constexpr size_t kMostModels = 8;  // more have too many partitions to measure

// Options without a meaning, or with another one, for several models.
Status check_sharing(const TuneOptions& options) {
  auto refused = [](const char* option, const char* why) {
    return Error{Code::kInvalid, std::string(option) + " has no meaning with --share: " + why};
  };
  if (options.models.size() < 2) return Error{Code::kInvalid, "--share is for two models or more"};
  if (options.models.size() > kMostModels)
    return Error{Code::kInvalid, "--share takes at most " + std::to_string(kMostModels) + " models"};
  if (!options.name.empty()) return refused("--name", "models are named by their files");
  if (!options.compare.empty()) return refused("--compare", "a shared result covers several models");
  if (options.device != "cpu") return refused("--device", "models share the CPUs and memory of this machine");
  if (!options.accuracy.eval.empty()) return refused("--eval", "a command judges one model");
  if (!options.objective.empty() && options.objective != "throughput")
    return refused("--for", "--share optimises throughput and goals");
  if (options.search == "full") return refused("--search full", "there are too many partitions to measure all");
  return {};
}

Result<std::vector<std::string>> names_of(const std::vector<std::string>& models) {
  std::vector<std::string> names;
  for (const std::string& model : models) {
    const std::string name = tune::entry_name(model);
    if (std::find(names.begin(), names.end(), name) != names.end())
      return Error{Code::kInvalid,
                   "two models are named " + name + " by their files; a repository holds one of each name"};
    names.push_back(name);
  }
  return names;
}

// "NAME:input=…" applies to one model, anything else to all with such an input or symbol.
std::vector<std::string> shapes_of(const std::vector<std::string>& shapes, const std::string& name,
                                   const std::vector<std::string>& names) {
  std::vector<std::string> own;
  for (const std::string& shape : shapes) {
    const std::string first = shape.substr(0, shape.find(':'));
    const bool named = first.size() < shape.size() && std::find(names.begin(), names.end(), first) != names.end();
    if (!named) own.push_back(shape);
    if (named && first == name) own.push_back(shape.substr(first.size() + 1));
  }
  return own;
}

// The request for one model, as if it were tuned alone.
Result<app::TuneRequest> one_of(const TuneOptions& options, size_t index, const std::vector<std::string>& names,
                                const std::optional<double>& p99_ms) {
  TuneOptions own = options;
  own.models = {options.models[index]};
  own.share = false;
  own.loads.clear();
  own.memory.clear();
  own.p99_ms.clear();
  own.objective = "throughput";
  own.shapes = shapes_of(options.shapes, names[index], names);
  if (!own.accuracy.calibration.empty()) {
    const std::string folder = own.accuracy.calibration + "/" + names[index];
    own.accuracy.calibration = std::filesystem::exists(folder) ? folder : "";
  }
  RIDGE_ASSIGN(app::TuneRequest request, request_of(own));
  request.goal.p99_ms = p99_ms;
  return request;
}

}  // namespace

Result<app::ShareRequest> share_request_of(const TuneOptions& options) {
  RIDGE_TRY(check_sharing(options));
  RIDGE_ASSIGN(const std::vector<std::string> names, names_of(options.models));
  RIDGE_ASSIGN(const auto loads, values_per_model("--rps", options.loads, names));
  RIDGE_ASSIGN(const auto p99s, values_per_model("--p99-ms", options.p99_ms, names));
  auto value = [](const std::map<std::string, double>& values, const std::string& name) -> std::optional<double> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  app::ShareRequest request;
  for (size_t i = 0; i < names.size(); ++i) {
    request.goals.push_back({value(loads, names[i]), value(p99s, names[i])});
    RIDGE_ASSIGN(app::TuneRequest one, one_of(options, i, names, request.goals.back().p99_ms));
    request.models.push_back(std::move(one));
  }
  if (!options.memory.empty()) {
    RIDGE_ASSIGN(request.memory_bytes, parse_bytes(options.memory));
  }
  return request;
}

}  // namespace ridge::cli
