#include "serve/config_text.h"

#include <fmt/format.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/json.h"
#include "base/log.h"
#include "model_config.pb.h"

namespace ridge::serve {
namespace {

constexpr int kMaxDepth = 64;  // the schema itself nests 7 deep

// Depth of JSON's lists and objects, as far as the text is JSON. Protobuf's parser keeps every level in memory.
int depth_of(std::string_view json) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

// Keeps the first error, the cause of the others.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(const std::string& path) : path_(path) {}
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = place(line, column) + message;
  }
  void AddWarning(int line, int column, const std::string& message) override {
    log::warning("{}{}", place(line, column), message);
  }
  const std::string& text() const { return text_; }

 private:
  // Protobuf counts from 0; -1 = the whole text.
  std::string place(int line, int column) const {
    return line < 0 ? path_ + ": " : fmt::format("{}:{}:{}: ", path_, line + 1, column + 1);
  }
  std::string path_;
  std::string text_;
};

// The wire's forms have texts in UTF-8, which protobuf checks only where it reads them.
bool is_utf8(const inference::ModelConfig& config) {
  const google::protobuf::LogSilencer silencer;
  inference::ModelConfig copy;
  return copy.ParseFromString(config.SerializeAsString());
}

}  // namespace

Result<ConfigPtr> parse_config_text(const std::string& text, const std::string& path) {
  auto config = std::make_shared<inference::ModelConfig>();
  FirstError errors(path);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.SetRecursionLimit(kMaxDepth);
  if (parser.ParseFromString(text, config.get())) {
    if (is_utf8(*config)) return ConfigPtr(std::move(config));
    return Error{Code::kInvalid, path + ": a name or value in it is not UTF-8"};
  }
  return Error{Code::kInvalid, errors.text().empty() ? path + ": not a model configuration" : errors.text()};
}

Result<ConfigPtr> parse_config_json(const std::string& json, const std::string& what) {
  if (depth_of(json) > kMaxDepth)
    return Error{Code::kInvalid, fmt::format("{}: JSON is nested deeper than {}", what, kMaxDepth)};
  auto config = std::make_shared<inference::ModelConfig>();
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = false;
  auto status = google::protobuf::util::JsonStringToMessage(json, config.get(), options);
  if (status.ok()) return ConfigPtr(std::move(config));
  return Error{Code::kInvalid, what + ": " + std::string(status.message())};
}

bool states_batch_size(const std::string& text) {
  const google::protobuf::LogSilencer silencer;
  inference::ModelConfig config;
  google::protobuf::TextFormat::ParseInfoTree places;
  google::protobuf::TextFormat::Parser parser;
  parser.WriteLocationsTo(&places);
  parser.SetRecursionLimit(kMaxDepth);
  return parser.ParseFromString(text, &config) &&
         places.GetLocation(config.GetDescriptor()->FindFieldByName("max_batch_size"), -1).line >= 0;
}

bool states_batch_size_in_json(const std::string& json) {
  const Json members = Json::parse(json, nullptr, false);
  return members.is_object() && (members.contains("max_batch_size") || members.contains("maxBatchSize"));
}

ConfigPtr empty_config() { return std::make_shared<inference::ModelConfig>(); }

}  // namespace ridge::serve
