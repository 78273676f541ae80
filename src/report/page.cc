#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/asset.h"

namespace ridge::report {
namespace {

struct PageRow {
  std::string_view verb;
  const char* subject;      // the member that completes the title
  const char* script;       // the asset that draws the page, after the common one
  const char* member = "";  // pointer that the document has, where a verb has several pages
};
constexpr PageRow kPages[] = {
    {"plan", "/model", "serving_script", "/workload"},  // of earlier versions
    {"plan", "/model", "plan_script"},
    {"size", "/model", "serving_script", "/workload"},
    {"size", "/model", "plan_script"},
    // The original model; the winner's may be a file of another precision.
    {"tune", "/baseline/model", "tune_script"},
    {"bench", "/model", "bench_script"},
    {"bench server", "/model", "server_script"},
    {"bench device", "/device", "device_script"},
    {"doctor", "/about/machine/name", "doctor_script"},
    {"gpus", "/name", "gpus_script"},
    {"power sweep", "/device", "power_script"},
    {"lab", "/conditions/name", "lab_script"},
    // Not a verb: gpu_check/gpu_check.py writes the document, `ridge show` its page.
    {"gpu check", "/device", "gpu_check_script"},
};

// Text at this pointer; "" if there is none.
std::string text_of(const Json& document, const char* pointer) {
  const Json::json_pointer at(pointer);
  return document.contains(at) && document.at(at).is_string() ? document.at(at).get<std::string>() : "";
}

// "ridge plan · resnet50.onnx": a path by its last part.
std::string title_of(const PageRow& row, const Json& document) {
  std::string subject = text_of(document, row.subject);
  if (subject.find(' ') == std::string::npos) subject = subject.substr(subject.rfind('/') + 1);
  return fmt::format("ridge {}{}{}", row.verb, subject.empty() ? "" : " · ", subject);
}

// Every @NAME@ of the skeleton, once and from the left: inserted text is not scanned again.
std::string filled(std::string_view skeleton, const std::array<std::pair<std::string_view, std::string>, 8>& values) {
  std::string page;
  while (true) {
    size_t next = skeleton.size();
    const std::pair<std::string_view, std::string>* found = nullptr;
    for (const auto& value : values)
      if (size_t at = skeleton.find(value.first); at < next) {
        next = at;
        found = &value;
      }
    page += skeleton.substr(0, next);
    if (found == nullptr) return page;
    page += found->second;
    skeleton.remove_prefix(next + found->first.size());
  }
}

}  // namespace

Result<std::string> page(const Json& document, const Json& columns, Language language) {
  const std::string verb = text_of(document, "/about/verb");
  const auto* row = std::ranges::find_if(kPages, [&](const PageRow& page) {
    return page.verb == verb && document.contains(Json::json_pointer(page.member));
  });
  if (row == std::end(kPages)) return Error{Code::kInvalid, fmt::format("there is no page for 'ridge {}'", verb)};
  return filled(asset("frame"),
                {{{"@LANGUAGE@", language == Language::kChinese ? "zh-CN" : "en"},
                  {"@TITLE@", escape_html(title_of(*row, document))},
                  {"@STYLE@", std::string(asset("style"))},
                  {"@DATA@", escape_script_json(dump_json(document))},
                  {"@COLUMNS@", escape_script_json(dump_json(columns))},
                  {"@CHINESE@", escape_script_json(asset("chinese"))},
                  {"@CHARTS@", std::string(asset("chart"))},
                  {"@SCRIPT@", std::string(asset("common_script")) + std::string(asset(row->script))}}});
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (char c : text) switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      case '\'': escaped += "&#39;"; break;
      default: escaped += c;
    }
  return escaped;
}

std::string escape_script_json(std::string_view json) {
  std::string escaped;
  for (size_t i = 0; i < json.size(); ++i) {
    std::string_view rest = json.substr(i);
    if (rest.starts_with("\xE2\x80\xA8") || rest.starts_with("\xE2\x80\xA9")) {
      escaped += rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (json[i] == '<' || json[i] == '>' || json[i] == '&') {
      escaped += fmt::format("\\u{:04x}", static_cast<unsigned>(json[i]));
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

}  // namespace ridge::report
