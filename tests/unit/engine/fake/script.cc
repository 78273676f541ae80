#include "engine/fake/script.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/file.h"
#include "base/random.h"

namespace ridge::engine::fake {
namespace {

struct ScriptTensor {
  std::string name, type;
  Shape shape;
};
void visit_fields(auto& visit, Is<ScriptTensor> auto& tensor) {
  visit("name", tensor.name);
  visit("type", tensor.type);
  visit("shape", tensor.shape);
}

struct ScriptTensors {
  std::vector<TensorSpec>& specs;
};
Status read_json(const Json& json, ScriptTensors& tensors) {
  RIDGE_ASSIGN(const std::vector<ScriptTensor> list, from_json<std::vector<ScriptTensor>>(json));
  tensors.specs.clear();
  for (const ScriptTensor& tensor : list) {
    tensors.specs.push_back({tensor.name, data_type_from_name(tensor.type), tensor.shape});
    if (tensors.specs.back().type == DataType::kInvalid)
      return invalid("tensor '" + tensor.name + "' has unknown type '" + tensor.type + "'");
  }
  return {};
}

// A value, or an array of them.
template <typename T>
struct OneOrMore {
  std::set<T>& values;
};
template <typename T>
Status read_json(const Json& json, OneOrMore<T>& list) {
  RIDGE_ASSIGN(const std::vector<T> values, from_json<std::vector<T>>(json.is_array() ? json : Json::array({json})));
  list.values = {values.begin(), values.end()};
  return {};
}

// `answer`: "echo" or "constant".
void visit_script(auto& visit, Script& script, std::string& answer) {
  ScriptTensors inputs{script.signature.inputs}, outputs{script.signature.outputs};
  OneOrMore<int64_t> fail_runs{script.fail_runs}, stall_runs{script.stall_runs};
  OneOrMore<std::string> devices{script.devices};
  auto seed = static_cast<int64_t>(script.seed);
  visit.optional("inputs", inputs);
  visit.optional("outputs", outputs);
  visit.optional("load_ms", script.load_ms);
  visit.optional("fail_load", script.fail_load);
  visit.optional("devices", devices);
  visit.optional("latency_ms", script.latency_ms);
  visit.optional("latency_ms_per_row", script.latency_ms_per_row);
  visit.optional("serial_share", script.serial_share);
  visit.optional("jitter_ms", script.jitter_ms);
  visit.optional("seed", seed);
  visit.optional("spin", script.spin);
  visit.optional("parallel", script.parallel);
  visit.optional("processors", script.cpus);
  visit.optional("interference", script.interference);
  visit.optional("fail_runs", fail_runs);
  visit.optional("stall_runs", stall_runs);
  visit.optional("stall_ms", script.stall_ms);
  visit.optional("answer", answer);
  visit.optional("value", script.value);
  script.seed = static_cast<uint64_t>(seed);
}

struct ScriptMembers {
  std::set<std::string> names;
  void optional(const char* name, const auto&) { names.insert(name); }
};

Result<Script> script_of(const Json& json) {
  Script script;
  script.signature.inputs = {{"x", DataType::kFp32, {-1, 16}}};
  script.signature.outputs = {{"y", DataType::kFp32, {-1, 16}}};
  script.devices = {"cpu"};
  std::string answer = "echo";
  ScriptMembers members;
  visit_script(members, script, answer);
  for (const auto& [key, value] : json.items())
    if (!members.names.contains(key)) return invalid("unknown member '" + key + "'; docs/contracts.md lists them");
  RIDGE_TRY(read_fields(json, [&](auto& visit) { visit_script(visit, script, answer); }));
  if (answer != "echo" && answer != "constant") return invalid("'answer' should be \"echo\" or \"constant\"");
  script.echo = answer == "echo";
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
  Result<Script> script = script_of(json);
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
