#include "engine/onnxruntime/profile.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/json.h"

namespace ridge::engine::onnxruntime {
namespace {

constexpr std::string_view kKernelSuffix = "_kernel_time";
constexpr double kTruncatedUs = 0.5;  // see profile.h

struct Run {
  int64_t begin_us = 0;
  int64_t end_us = 0;
};

struct Event {
  const Json* json = nullptr;
  int64_t begin_us = 0;
  int64_t duration_us = 0;
  int64_t self_us = 0;  // without the events inside it
};

std::string text_or(const Json& json, const char* key) {
  return json_member_or<std::string>(json, key, "").ok() ? *json_member_or<std::string>(json, key, "") : "";
}

int64_t number_or(const Json& json, const char* key) {
  Result<int64_t> number = json_member_or<int64_t>(json, key, 0);
  return number ? *number : 0;
}

bool is_kernel(const Json& event) {
  std::string name = text_or(event, "name");
  return text_or(event, "cat") == "Node" && name.size() > kKernelSuffix.size() &&
         name.compare(name.size() - kKernelSuffix.size(), kKernelSuffix.size(), kKernelSuffix) == 0;
}

DataType type_from_onnxruntime(const std::string& name) {
  static const std::map<std::string, DataType> kTypes = {
      {"float", DataType::kFp32},    {"float16", DataType::kFp16},  {"bfloat16", DataType::kBf16},
      {"double", DataType::kFp64},   {"int8", DataType::kInt8},     {"int16", DataType::kInt16},
      {"int32", DataType::kInt32},   {"int64", DataType::kInt64},   {"uint8", DataType::kUint8},
      {"uint16", DataType::kUint16}, {"uint32", DataType::kUint32}, {"uint64", DataType::kUint64},
      {"bool", DataType::kBool},     {"string", DataType::kBytes},
  };
  auto found = kTypes.find(name);
  return found == kTypes.end() ? DataType::kInvalid : found->second;
}

// [{"float":[1,3,224,224]}, …]; an omitted operand is {}.
std::vector<std::pair<DataType, Shape>> operands(const Json& arguments, const char* key) {
  std::vector<std::pair<DataType, Shape>> list;
  auto found = arguments.find(key);
  if (found == arguments.end() || !found->is_array()) return list;
  for (const Json& operand : *found) {
    std::pair<DataType, Shape> read{DataType::kInvalid, {}};
    if (operand.is_object() && !operand.empty()) {
      read.first = type_from_onnxruntime(operand.begin().key());
      for (const Json& dimension : operand.begin().value())
        if (dimension.is_number_integer()) read.second.push_back(dimension.get<int64_t>());
    }
    list.push_back(std::move(read));
  }
  return list;
}

std::vector<Run> runs_in(const Json& trace) {
  std::vector<Run> runs;
  for (const Json& event : trace)
    if (text_or(event, "cat") == "Session" && text_or(event, "name") == "model_run")
      runs.push_back({number_or(event, "ts"), number_or(event, "ts") + number_or(event, "dur")});
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.begin_us < b.begin_us; });
  return runs;
}

// The trace lists events as they end, inner before outer: an event is inside one that began before it.
std::vector<Event> kernels_in(const Json& trace) {
  std::vector<Event> kernels;
  std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>>
      open;  // per thread: begin and duration, not yet inside another
  for (const Json& json : trace) {
    if (!is_kernel(json)) continue;
    Event event{&json, number_or(json, "ts"), number_or(json, "dur"), number_or(json, "dur")};
    auto& siblings = open[number_or(json, "tid")];
    while (!siblings.empty() && siblings.back().first >= event.begin_us) {
      event.self_us -= siblings.back().second;
      siblings.pop_back();
    }
    event.self_us = std::max<int64_t>(event.self_us, 0);
    siblings.emplace_back(event.begin_us, event.duration_us);
    kernels.push_back(event);
  }
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const Event& a, const Event& b) { return a.begin_us < b.begin_us; });
  return kernels;
}

// Mean of the middle half: disturbed calls do not count.
double middle_mean(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const size_t first = values.size() / 4, last = std::max(first + 1, values.size() - values.size() / 4);
  double sum = 0;
  for (size_t i = first; i < last && i < values.size(); ++i) sum += values[i];
  return sum / static_cast<double>(last - first);
}

// The result with which a node of the blocked layout begins: its own result has another name, but the node is named
// after the model's ("r59_nchwc"; nchwc_transformer.cc).
std::vector<std::string> blocked_sources(const std::string& name) {
  for (std::string_view suffix : {"_bn_nchwc", "_mul_nchwc", "_nchwc"})
    if (const size_t at = name.rfind(suffix); at != std::string::npos) return {name.substr(0, at)};
  return {};
}

NodeTime describe(const Json& event, const Json& arguments) {
  NodeTime node;
  node.name = text_or(event, "name");
  node.name.resize(node.name.size() - kKernelSuffix.size());
  node.sources = blocked_sources(node.name);
  node.op = text_or(arguments, "op_name");
  node.provider = text_or(arguments, "provider");
  node.inputs = operands(arguments, "input_type_shape");
  node.outputs = operands(arguments, "output_type_shape");
  return node;
}

}  // namespace

Result<std::vector<NodeTime>> parse_profile(std::string_view text, int skip_runs) {
  RIDGE_ASSIGN(Json trace, parse_json(text, "ONNX Runtime's profile"));
  if (!trace.is_array()) return Error{Code::kInvalid, "ONNX Runtime's profile is not an array of events"};
  std::vector<Run> runs = runs_in(trace);
  if (runs.size() <= static_cast<size_t>(std::max(skip_runs, 0)))
    return Error{Code::kInvalid, "ONNX Runtime's profile holds " + std::to_string(runs.size()) + " runs, the first " +
                                     std::to_string(skip_runs) + " do not count; run more"};
  const int64_t counted_from_us = runs[static_cast<size_t>(std::max(skip_runs, 0))].begin_us;
  const int counted = static_cast<int>(runs.size()) - std::max(skip_runs, 0);

  std::vector<NodeTime> nodes;
  std::vector<std::vector<double>> calls;                                     // of each node [µs]
  std::map<std::tuple<std::string, std::string, std::string>, size_t> index;  // name, node index, op → nodes
  const Json none = Json::object();
  for (const Event& event : kernels_in(trace)) {
    if (event.begin_us < counted_from_us) continue;
    auto found = event.json->find("args");
    const Json& arguments = found == event.json->end() || !found->is_object() ? none : *found;
    auto [entry, added] = index.try_emplace(
        {text_or(*event.json, "name"), text_or(arguments, "node_index"), text_or(arguments, "op_name")}, nodes.size());
    if (added) {
      nodes.push_back(describe(*event.json, arguments));
      calls.emplace_back();
    }
    NodeTime& node = nodes[entry->second];
    node.runs = counted;
    ++node.calls;
    node.mean_us += (static_cast<double>(event.self_us) + kTruncatedUs) / counted;
    calls[entry->second].push_back(static_cast<double>(event.self_us) + kTruncatedUs);
  }
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].typical_us = middle_mean(calls[i]);
  return nodes;
}

}  // namespace ridge::engine::onnxruntime
