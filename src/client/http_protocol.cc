#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/json.h"
#include "base/number_type.h"
#include "client/http_wire.h"
#include "client/protocol.h"

namespace ridge::client {
namespace {

// ---------------------------------------------------------------------------------------------------------- tensors

template <typename T>
Status append_numbers(std::span<const std::byte> data, Json& list) {
  for (size_t at = 0; at + sizeof(T) <= data.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, data.data() + at, sizeof value);
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value)) return Error{Code::kUnsupported, "a number that is not finite has no JSON form"};
    list.push_back(value);
  }
  return {};
}

Status append_strings(std::span<const std::byte> data, Json& list) {
  for (size_t at = 0; at < data.size();) {
    uint32_t length = 0;
    std::memcpy(&length, data.data() + at, sizeof length);
    at += sizeof length;
    list.push_back(std::string(reinterpret_cast<const char*>(data.data()) + at, length));
    at += length;
  }
  return {};
}

Status append_values(const Tensor& tensor, Json& list) {
  const std::span<const std::byte> data = tensor.data.span();
  if (tensor.type == DataType::kBytes) return append_strings(data, list);
  if (tensor.type == DataType::kBool) {
    for (std::byte value : data) list.push_back(value != std::byte{0});
    return {};
  }
  return with_number_type(
      tensor.type, [&](auto zero) { return append_numbers<decltype(zero)>(data, list); },
      [&]() -> Status {
        return Error{Code::kUnsupported, std::string(data_type_name(tensor.type)) + " has no JSON form"};
      });
}

// Tensors as bytes follow the JSON, in its order.
struct InferBody {
  std::string bytes;
  size_t json_size = 0;  // [bytes] of the JSON at its beginning; binary only
};

Result<InferBody> infer_body(std::span<const TensorSpec> inputs, std::span<const Tensor* const> tensors,
                             Payload payload) {
  Json request;
  Json& list = request["inputs"] = Json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    Json& input = list.emplace_back();
    input["name"] = inputs[i].name;
    input["shape"] = tensors[i]->shape;
    input["datatype"] = data_type_name(tensors[i]->type);
    if (payload == Payload::kBinary)
      input["parameters"]["binary_data_size"] = tensors[i]->data.size();
    else if (Status written = append_values(*tensors[i], input["data"] = Json::array()); !written)
      return wrap(written.error(), "input '" + inputs[i].name + "'");
  }
  if (payload == Payload::kBinary) request["parameters"]["binary_data_output"] = true;
  InferBody body{dump_json(request), 0};
  if (payload == Payload::kJson) return body;
  body.json_size = body.bytes.size();
  for (const Tensor* tensor : tensors)
    body.bytes.append(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size());
  return body;
}

// ---------------------------------------------------------------------------------------------------------- questions

struct Asked {
  MetadataRequest question;
  const char* method;
  std::string (*path)(const ServerUrl& url);
};
constexpr std::array<Asked, 4> kAsked = {{
    {MetadataRequest::kServer, "GET", [](const ServerUrl& url) { return url.prefix + "/v2"; }},
    {MetadataRequest::kModel, "GET", [](const ServerUrl& url) { return model_path(url); }},
    {MetadataRequest::kStatistics, "GET", [](const ServerUrl& url) { return model_path(url, "/stats"); }},
    {MetadataRequest::kIndex, "POST", [](const ServerUrl& url) { return url.prefix + "/v2/repository/index"; }},
}};

const Asked& asked(MetadataRequest question) { return kAsked.at(static_cast<size_t>(question)); }

constexpr size_t kShownOfAnswer = 120;  // [bytes] in errors

std::string_view json_text(const Response& answer) {
  return std::string_view(answer.body).substr(0, answer.json_size.value_or(answer.body.size()));
}

class HttpProtocol final : public Protocol {
 public:
  std::unique_ptr<Wire> wire(const ServerUrl&, const BodyLimits& keep) const override { return http_wire(keep); }
  std::string name() const override { return "HTTP"; }

  Request request(const ServerUrl& url, MetadataRequest question) const override {
    const Asked& row = asked(question);
    const bool post = std::string_view(row.method) == "POST";
    return {"", http_request(url, row.method, row.path(url), post ? "{}" : "",
                             post ? "Content-Type: application/json\r\n" : "")};
  }
  Result<Json> read(MetadataRequest, const Response& answer) const override {
    return parse_json(answer.body, "the answer");
  }
  std::string text_of(const ServerUrl& url, MetadataRequest question) const override {
    const Asked& row = asked(question);
    return fmt::format("{} {}{}", row.method, server_text(url), row.path(url));
  }

  Result<InferRequest> infer(const ServerUrl& url, std::span<const TensorSpec> inputs,
                             std::span<const Tensor* const> tensors, Payload payload) const override {
    RIDGE_ASSIGN(const InferBody body, infer_body(inputs, tensors, payload));
    const std::string fields =
        body.json_size > 0
            ? fmt::format("Content-Type: application/octet-stream\r\nInference-Header-Content-Length: {}\r\n",
                          body.json_size)
            : "Content-Type: application/json\r\n";
    return InferRequest{{"", http_request(url, "POST", model_path(url, "/infer"), body.bytes, fields)},
                        body.bytes.size()};
  }

  // The text alone tells most answers; a name in it may be one of a tensor, or in an error's message.
  int failure_of(const Response& answer, std::string& why) const override {
    const std::string_view text = json_text(answer);
    const bool whole = answer.body.size() == answer.body_size || answer.json_size.value_or(SIZE_MAX) <= text.size();
    const bool outputs = text.find("\"outputs\"") != std::string_view::npos;
    if (!whole || (outputs && text.find("\"error\"") == std::string_view::npos)) return 0;
    const Result<Json> json = parse_json(text, "the answer");
    const bool object = json && json->is_object();
    if (object && json->contains("outputs") && json->value("error", Json()).is_null()) return 0;
    why = object && !json->value("error", Json()).is_null() ? error_of(*json) : "";
    const int failure = why.empty() ? kBadAnswer : kErrorInAnswer;
    if (why.empty()) why = fmt::format("the answer has no 'outputs': '{}'", text.substr(0, kShownOfAnswer));
    return failure;
  }

  Result<std::string> version_of(const Response& answer) const override {
    RIDGE_ASSIGN(const Json json, parse_json(json_text(answer), "the answer"));
    return json_member_or<std::string>(json, "model_version", "");
  }
  std::string infer_text(const ServerUrl& url) const override {
    return fmt::format("POST {}/infer", client::text_of(url));
  }
};

}  // namespace

NameTable<Payload> names_of(Payload) {
  static constexpr std::pair<Payload, std::string_view> kNames[] = {{Payload::kBinary, "binary"},
                                                                    {Payload::kJson, "json"}};
  return kNames;
}

std::string http_request(const ServerUrl& url, std::string_view method, std::string_view path, std::string_view body,
                         std::string_view fields) {
  const bool has_body = !body.empty() || method != "GET";
  const std::string length = has_body ? fmt::format("Content-Length: {}\r\n", body.size()) : "";
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: ridge/" RIDGE_VERSION "\r\n{}{}\r\n",
                                    method, path, host_and_port(url), length, fields);
  return request.append(body);
}

const Protocol& http_protocol() {
  static const HttpProtocol kProtocol;
  return kProtocol;
}

const Protocol& protocol_of(Scheme scheme) { return scheme == Scheme::kGrpc ? grpc_protocol() : http_protocol(); }

}  // namespace ridge::client
