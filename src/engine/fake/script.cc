#include "engine/fake/script.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"

namespace ridge::engine::fake {
namespace {

constexpr std::string_view kMembers[] = {
    "inputs",     "outputs",  "load_ms",      "fail_load", "latency_ms", "latency_ms_per_row", "jitter_ms",
    "seed",       "spin",     "serial_share", "parallel",  "processors", "interference",       "fail_runs",
    "stall_runs", "stall_ms", "answer",       "value",     "devices"};

Result<std::vector<TensorSpec>> read_specs(const Json& script, const char* key) {
  std::vector<TensorSpec> specs;
  if (!script.at(key).is_array())
    return Error{Code::kInvalid, std::string("'") + key + "' should be an array of tensors"};
  for (const Json& json : script.at(key)) {
    RIDGE_ASSIGN(std::string name, json_member<std::string>(json, "name"));
    RIDGE_ASSIGN(std::string type, json_member<std::string>(json, "type"));
    TensorSpec spec{name, data_type_from_name(type), {}};
    if (spec.type == DataType::kInvalid)
      return Error{Code::kInvalid, "tensor '" + name + "' has unknown type '" + type + "'"};
    auto shape = json.find("shape");
    if (shape == json.end() || !shape->is_array() ||
        !std::all_of(shape->begin(), shape->end(), [](const Json& d) { return d.is_number_integer(); }))
      return Error{Code::kInvalid, "tensor '" + name + "' needs a 'shape', an array of integers"};
    spec.shape = shape->get<Shape>();
    specs.push_back(std::move(spec));
  }
  return specs;
}

// A run number, or an array of them.
Result<std::set<int64_t>> read_runs(const Json& script, const char* key) {
  std::set<int64_t> runs;
  auto found = script.find(key);
  if (found == script.end()) return runs;
  for (const Json& run : found->is_array() ? *found : Json::array({*found})) {
    if (!run.is_number_integer()) return Error{Code::kInvalid, std::string("'") + key + "' should hold run numbers"};
    runs.insert(run.get<int64_t>());
  }
  return runs;
}

Result<std::set<std::string>> read_devices(const Json& script) {
  const auto found = script.find("devices");
  if (found == script.end()) return std::set<std::string>{"cpu"};
  std::set<std::string> devices;
  for (const Json& device : found->is_array() ? *found : Json::array({*found})) {
    if (!device.is_string()) return Error{Code::kInvalid, "'devices' should hold names: \"cuda:0\""};
    devices.insert(device.get<std::string>());
  }
  return devices;
}

Status check_members(const Json& json) {
  if (!json.is_object()) return Error{Code::kInvalid, "expected a JSON object"};
  for (const auto& [key, value] : json.items())
    if (std::find(std::begin(kMembers), std::end(kMembers), key) == std::end(kMembers))
      return Error{Code::kInvalid, "unknown member '" + key + "'; docs/contracts.md lists them"};
  return {};
}

Result<Script> from_json(const Json& json) {
  RIDGE_TRY(check_members(json));
  Script script;
  script.signature.inputs = {{"x", DataType::kFp32, {-1, 16}}};
  script.signature.outputs = {{"y", DataType::kFp32, {-1, 16}}};
  if (json.contains("inputs")) {
    RIDGE_ASSIGN(script.signature.inputs, read_specs(json, "inputs"));
  }
  if (json.contains("outputs")) {
    RIDGE_ASSIGN(script.signature.outputs, read_specs(json, "outputs"));
  }
  RIDGE_ASSIGN(script.load_ms, json_member_or<double>(json, "load_ms", 0));
  RIDGE_ASSIGN(script.fail_load, json_member_or<std::string>(json, "fail_load", ""));
  RIDGE_ASSIGN(script.devices, read_devices(json));
  RIDGE_ASSIGN(script.latency_ms, json_member_or<double>(json, "latency_ms", 0));
  RIDGE_ASSIGN(script.latency_ms_per_row, json_member_or<double>(json, "latency_ms_per_row", 0));
  RIDGE_ASSIGN(script.serial_share, json_member_or<double>(json, "serial_share", 1));
  RIDGE_ASSIGN(script.jitter_ms, json_member_or<double>(json, "jitter_ms", 0));
  RIDGE_ASSIGN(int64_t seed, json_member_or<int64_t>(json, "seed", 1));
  script.seed = static_cast<uint64_t>(seed);
  RIDGE_ASSIGN(script.spin, json_member_or<bool>(json, "spin", false));
  RIDGE_ASSIGN(int64_t parallel, json_member_or<int64_t>(json, "parallel", 0));
  script.parallel = static_cast<int>(parallel);
  RIDGE_ASSIGN(int64_t cpus, json_member_or<int64_t>(json, "processors", 0));
  script.cpus = static_cast<int>(cpus);
  RIDGE_ASSIGN(script.interference, json_member_or<double>(json, "interference", 0));
  RIDGE_ASSIGN(script.fail_runs, read_runs(json, "fail_runs"));
  RIDGE_ASSIGN(script.stall_runs, read_runs(json, "stall_runs"));
  RIDGE_ASSIGN(script.stall_ms, json_member_or<double>(json, "stall_ms", 0));
  RIDGE_ASSIGN(std::string answer, json_member_or<std::string>(json, "answer", "echo"));
  if (answer != "echo" && answer != "constant")
    return Error{Code::kInvalid, "'answer' should be \"echo\" or \"constant\""};
  script.echo = answer == "echo";
  RIDGE_ASSIGN(script.value, json_member_or<double>(json, "value", 0));
  return script;
}

double uniform(uint64_t seed, int64_t run) {
  return static_cast<double>(split_mix(seed + kGoldenGamma * static_cast<uint64_t>(run)) >> 11) * 0x1.0p-53;
}

}  // namespace

Result<Script> read_script(const plan::Plan& plan) {
  Json json = Json::object();
  if (plan.model.ends_with(kScriptSuffix)) {
    RIDGE_ASSIGN(std::string text, read_file(plan.model));
    RIDGE_ASSIGN(json, parse_json(text, plan.model));
    if (!json.is_object()) return Error{Code::kInvalid, plan.model + ": expected a JSON object"};
  }
  for (const auto& [key, value] : plan.options) {
    Result<Json> parsed = parse_json(value, "fake engine option " + key);
    json[key] = parsed ? *parsed : Json(value);  // a word needs no quotes
  }
  Result<Script> script = from_json(json);
  if (!script) return wrap(script.error(), "fake engine script " + plan.model);
  return script;
}

double latency_ms(const Script& script, int64_t run, int64_t rows, int threads) {
  double alone = script.latency_ms + script.latency_ms_per_row * static_cast<double>(rows);
  double latency = alone * (script.serial_share + (1 - script.serial_share) / std::max(threads, 1));
  if (script.jitter_ms > 0) latency += script.jitter_ms * uniform(script.seed, run);
  if (script.stall_runs.contains(run)) latency += script.stall_ms;
  return latency;
}

}  // namespace ridge::engine::fake
