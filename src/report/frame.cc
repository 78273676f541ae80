#include "report/frame.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "report/asset.h"

namespace ridge::report {
namespace {

// Every @NAME@ of the skeleton, once and from the left: what is put in is not looked at again.
std::string filled(std::string_view skeleton, const std::array<std::pair<std::string_view, std::string>, 6>& values) {
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

Result<Language> language_from_name(std::string_view name) {
  if (name == "en") return Language::kEnglish;
  if (name == "zh") return Language::kChinese;
  return Error{Code::kInvalid, fmt::format("unknown language '{}'; known: en, zh", name)};
}

std::string framed(std::string_view title, Language language, const Json& data, std::string_view script) {
  return filled(asset("frame"), {{{"@LANGUAGE@", language == Language::kChinese ? "zh-CN" : "en"},
                                  {"@TITLE@", escape_html(title)},
                                  {"@STYLE@", std::string(asset("style"))},
                                  {"@DATA@", escape_script_json(dump_json(data))},
                                  {"@CHARTS@", std::string(asset("chart"))},
                                  {"@SCRIPT@", std::string(asset("common_script")) + std::string(asset(script))}}});
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
