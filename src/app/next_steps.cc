#include "app/next_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/percent.h"
#include "model/inputs.h"

namespace ridge::app {
namespace {

constexpr int64_t kInlineElements = 32;  // more are written by python

bool plain_in(std::string_view text, std::string_view others) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

// The tensor of a request, as JSON or as Python has it: valid for ids, masks and pictures alike.
std::string tensor_text(const TensorSpec& input, bool python) {
  const int64_t count = element_count(input.shape).value_or(1);
  const std::string value = input.type == DataType::kBytes  ? "\"text\""
                            : input.type != DataType::kBool ? "1"
                            : python                        ? "True"
                                                            : "true";
  const std::string data =
      python ? fmt::format("[{}] * {}", value, count)
             : fmt::format("[{}]", fmt::join(std::vector<std::string>(static_cast<size_t>(count), value), ","));
  return fmt::format(R"({{"name": "{}", "datatype": "{}", "shape": [{}], "data": {}}})", input.name,
                     data_type_name(input.type), fmt::join(input.shape, ","), data);
}

// The words of a line that shell_word() wrote, as they are written there.
std::vector<std::string_view> shell_words(std::string_view line) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  bool quoted = false, escaped = false;
  for (size_t i = 0; i <= line.size(); ++i) {
    const char c = i < line.size() ? line[i] : ' ';
    if (c == ' ' && !quoted) {
      if (i > begin) words.push_back(line.substr(begin, i - begin));
      begin = i + 1;
    }
    if (c == '\'' && !escaped) quoted = !quoted;
    escaped = c == '\\' && !quoted;
  }
  return words;
}

bool has_json_form(const TensorSpec& input) {
  return input.type != DataType::kFp16 && input.type != DataType::kBf16 && input.type != DataType::kInvalid &&
         input.name.find_first_of("\"\\") == std::string::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (plain_in(text, "-_./:=,@%+~#") && text.front() != '~' && text.front() != '#') return std::string(text);
  std::string word = "'";
  for (char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

std::string repeated(std::string_view line, std::string_view file) {
  if (line.starts_with("ridge tune ")) return std::string(line);
  std::string own, command;  // without outputs; behind "--"
  const std::vector<std::string_view> words = shell_words(line);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = words[i].substr(0, words[i].find('='));
    if (!command.empty() || words[i] == "--")
      command += fmt::format(" {}", words[i]);
    else if (name == "-o" || name == "--output" || name == "--html" || name == "--trace")
      i += name.size() == words[i].size() ? 1 : 0;  // its value is the next word
    else if (name != "--json" && name != "--csv")
      own += fmt::format("{}{}", own.empty() ? "" : " ", words[i]);
  }
  return own + " -o " + shell_word(file) + command;
}

std::string request_line(const std::string& host, const std::string& model, std::span<const TensorSpec> inputs,
                         const std::string& client_options, bool sequence) {
  const std::string url = fmt::format("{}{}/v2/models/{}", client_options, host, percent_encoded(model));
  if (!std::all_of(inputs.begin(), inputs.end(), has_json_form)) return "curl -s " + url;
  int64_t elements = 0;
  std::vector<TensorSpec> sized(inputs.begin(), inputs.end());
  for (TensorSpec& input : sized) {
    if (!input.shape.empty() && input.shape.front() < 0) input.shape.front() = 1;  // the batch
    input.shape = model::example_of(input.shape);
    elements += element_count(input.shape).value_or(0);
  }
  const bool python = elements > kInlineElements;
  std::string tensors;
  for (const TensorSpec& input : sized) tensors += (tensors.empty() ? "" : ", ") + tensor_text(input, python);
  const std::string parameters =
      sequence ? fmt::format(R"(, "parameters": {{"sequence_id": 1, "sequence_start": {0}, "sequence_end": {0}}})",
                             python ? "True" : "true")
               : "";
  const std::string body = "{\"inputs\": [" + tensors + "]" + parameters + "}";
  if (!python) return fmt::format("curl -s {}/infer -d {}", url, shell_word(body));
  return fmt::format("python3 -c {} | curl -s {}/infer -d @-",
                     shell_word("import json; print(json.dumps(" + body + "))"), url);
}

std::string text_line(const std::string& host, const std::string& model, const std::string& client_options,
                      bool chats) {
  Json body = {{"model", model}};
  if (chats)
    body["messages"] = Json::array({{{"role", "user"}, {"content", "Hello"}}});
  else
    body["prompt"] = "Hello";
  body["max_tokens"] = 32;
  return fmt::format("curl -s {}{}/v1/{}completions -H 'Content-Type: application/json' -d {}", client_options, host,
                     chats ? "chat/" : "", shell_word(dump_json(body)));
}

}  // namespace ridge::app
