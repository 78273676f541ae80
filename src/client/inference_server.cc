#include "client/inference_server.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "base/percent.h"

namespace ridge::client {
namespace {

// 64-bit integers may come as text, as protobuf's JSON has them.
Result<int64_t> integer(const Json& json, const char* what) {
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_string()) {
    const auto text = json.get<std::string>();
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc() && end == text.data() + text.size()) return value;
  }
  return invalid(fmt::format("'{}' should be an integer, found {}", what, dump_json(json)));
}

Result<int64_t> integer_or_zero(const Json& json, const char* member) {
  return json.is_object() && json.contains(member) ? integer(json[member], member) : Result<int64_t>(0);
}

Result<std::vector<TensorSpec>> read_tensors(const Json& model, const char* member) {
  std::vector<TensorSpec> tensors;
  if (!model.contains(member) || !model[member].is_array())
    return invalid(fmt::format("member '{}' should be a list", member));
  for (const Json& json : model[member]) {
    TensorSpec& tensor = tensors.emplace_back();
    RIDGE_ASSIGN(tensor.name, json_member<std::string>(json, "name"));
    RIDGE_ASSIGN(const std::string type, json_member<std::string>(json, "datatype"));
    tensor.type = data_type_from_name(type);
    if (tensor.type == DataType::kInvalid)
      return invalid(fmt::format("'{}' has the unknown datatype '{}'", tensor.name, type));
    if (!json.contains("shape") || !json["shape"].is_array())
      return invalid(fmt::format("'{}' should have a list 'shape'", tensor.name));
    for (const Json& size : json["shape"]) {
      RIDGE_ASSIGN(const int64_t value, integer(size, "shape"));
      tensor.shape.push_back(value);
    }
  }
  return tensors;
}

std::vector<std::string> strings_of(const Json& json, const char* member) {
  std::vector<std::string> strings;
  if (json.is_object() && json.contains(member) && json[member].is_array())
    for (const Json& element : json[member])
      if (element.is_string()) strings.push_back(element.get<std::string>());
  return strings;
}

Result<Statistics::Duration> duration(const Json& json, const char* member) {
  if (!json.is_object() || !json.contains(member)) return Statistics::Duration{};
  Statistics::Duration result;
  RIDGE_ASSIGN(result.count, integer_or_zero(json[member], "count"));
  RIDGE_ASSIGN(result.ns, integer_or_zero(json[member], "ns"));
  return result;
}

double mean_ms(const Statistics::Duration& before, const Statistics::Duration& after) {
  const int64_t count = after.count - before.count;
  return count > 0 ? static_cast<double>(after.ns - before.ns) / static_cast<double>(count) * 1e-6 : 0;
}

// An answer that cannot be read is the server's fault, not wrong usage.
Error unreadable(const Error& error, const std::string& what) {
  return {Code::kFailed, fmt::format("{}: {}", what, error.message)};
}

Result<std::vector<std::string>> ready_names(const Json& list) {
  std::vector<std::string> names;
  if (list.is_array())
    for (const Json& entry : list) {
      RIDGE_ASSIGN(const std::string name, json_member<std::string>(entry, "name"));
      RIDGE_ASSIGN(const std::string state, json_member_or<std::string>(entry, "state", ""));
      if (state == "READY" && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  if (names.empty()) return "it has none that is ready";
  const size_t shown = std::min<size_t>(names.size(), 20);
  return fmt::format("it has {}{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "),
                     shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : "");
}

}  // namespace

Result<ServerInfo> read_server(const Json& json) {
  ServerInfo server;
  RIDGE_ASSIGN(server.name, json_member<std::string>(json, "name"));
  RIDGE_ASSIGN(server.version, json_member_or<std::string>(json, "version", ""));
  server.extensions = strings_of(json, "extensions");
  return server;
}

bool has_extension(const ServerInfo& server, std::string_view extension) {
  return std::find(server.extensions.begin(), server.extensions.end(), extension) != server.extensions.end();
}

Result<ServedModel> read_model(const Json& json) {
  ServedModel model;
  RIDGE_ASSIGN(model.name, json_member<std::string>(json, "name"));
  model.versions = strings_of(json, "versions");
  RIDGE_ASSIGN(model.inputs, read_tensors(json, "inputs"));
  RIDGE_ASSIGN(model.outputs, read_tensors(json, "outputs"));
  return model;
}

Result<Statistics> read_statistics(const Json& json, const std::string& version) {
  if (!json.is_object() || !json.contains("model_stats") || !json["model_stats"].is_array())
    return invalid("member 'model_stats' should be a list");
  for (const Json& model : json["model_stats"]) {
    RIDGE_ASSIGN(const std::string its_version, json_member_or<std::string>(model, "version", ""));
    if (!version.empty() && its_version != version) continue;
    Statistics statistics;
    RIDGE_ASSIGN(statistics.rows, integer_or_zero(model, "inference_count"));
    RIDGE_ASSIGN(statistics.executions, integer_or_zero(model, "execution_count"));
    const Json none = Json::object();
    const Json& times = model.contains("inference_stats") ? model["inference_stats"] : none;
    RIDGE_ASSIGN(const Statistics::Duration success, duration(times, "success"));
    RIDGE_ASSIGN(const Statistics::Duration failed, duration(times, "fail"));
    statistics.success = success.count;
    statistics.failed = failed.count;
    RIDGE_ASSIGN(statistics.queue, duration(times, "queue"));
    RIDGE_ASSIGN(statistics.input, duration(times, "compute_input"));
    RIDGE_ASSIGN(statistics.compute, duration(times, "compute_infer"));
    RIDGE_ASSIGN(statistics.output, duration(times, "compute_output"));
    if (model.contains("batch_stats") && model["batch_stats"].is_array())
      for (const Json& batch : model["batch_stats"]) {
        RIDGE_ASSIGN(const int64_t rows, integer_or_zero(batch, "batch_size"));
        RIDGE_ASSIGN(const Statistics::Duration runs, duration(batch, "compute_infer"));
        statistics.batches[rows] += runs.count;
      }
    return statistics;
  }
  return Error{Code::kNotFound, fmt::format("there are no statistics of version '{}'", version)};
}

ServerSide difference(const Statistics& before, const Statistics& after) {
  ServerSide side;
  side.requests = after.success - before.success;
  side.failed = after.failed - before.failed;
  side.rows = after.rows - before.rows;
  side.executions = after.executions - before.executions;
  side.queue_ms = mean_ms(before.queue, after.queue);
  side.input_ms = mean_ms(before.input, after.input);
  side.compute_ms = mean_ms(before.compute, after.compute);
  side.output_ms = mean_ms(before.output, after.output);
  for (const auto& [rows, count] : after.batches) {
    const auto earlier = before.batches.find(rows);
    const int64_t runs = count - (earlier == before.batches.end() ? 0 : earlier->second);
    if (runs > 0) side.batches[std::to_string(rows)] = runs;
  }
  return side;
}

Result<ServerInfo> describe_server(Exchange& exchange) {
  const Result<Json> json = exchange.ask(MetadataRequest::kServer);
  const std::string hint = fmt::format(
      "; is this a server of the Open Inference Protocol (KServe v2), and its {} port?", exchange.protocol().name());
  if (!json) return Error{json.error().code, json.error().message + hint};
  Result<ServerInfo> server = read_server(*json);
  if (!server)
    return Error{
        Code::kFailed,
        unreadable(server.error(), exchange.protocol().text_of(exchange.url(), MetadataRequest::kServer)).message +
            hint};
  return server;
}

Result<ServedModel> describe_model(Exchange& exchange, const ServerInfo& server) {
  const ServerUrl& url = exchange.url();
  Result<Json> json = exchange.ask(MetadataRequest::kModel);
  if (json) {
    Result<ServedModel> model = read_model(*json);
    if (!model) return unreadable(model.error(), "metadata of " + text_of(url));
    return model;
  }
  if (!has_extension(server, "model_repository")) return json.error();
  const Result<std::vector<std::string>> names = ready_models(exchange);
  const std::string wanted = percent_decoded(url.model).value_or(url.model);
  if (!names || std::find(names->begin(), names->end(), wanted) != names->end()) return json.error();
  return Error{Code::kNotFound, fmt::format("there is no model '{}' at {}: {}{}", wanted, server_text(url),
                                            listed(*names), did_you_mean(wanted, *names))};
}

Result<std::vector<std::string>> ready_models(Exchange& exchange) {
  const Result<Json> index = exchange.ask(MetadataRequest::kIndex);
  if (!index) return Error{Code::kUnsupported, index.error().message};
  Result<std::vector<std::string>> names = ready_names(*index);
  if (!names) return unreadable(names.error(), exchange.protocol().text_of(exchange.url(), MetadataRequest::kIndex));
  return names;
}

Result<Statistics> statistics(Exchange& exchange, const std::string& version) {
  RIDGE_ASSIGN(const Json json, exchange.ask(MetadataRequest::kStatistics));
  return read_statistics(json, version);
}

Result<std::string> infer_once(Exchange& exchange, const Request& request) {
  RIDGE_ASSIGN(const Response answer, exchange.ask(request));
  if (answer.status != 200) {
    const Code code = code_of_status(answer.status);
    return Error{code == Code::kNotFound ? Code::kInvalid : code,
                 fmt::format("{} {}", failure_name(answer.status), error_text(answer))};
  }
  Result<std::string> version = exchange.protocol().version_of(answer);
  if (!version) return unreadable(version.error(), exchange.protocol().infer_text(exchange.url()));
  return version;
}

}  // namespace ridge::client
