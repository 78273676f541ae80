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
  PageKind kind;
  const char* title;
  const char* subject;  // the member that completes the title
  const char* script;   // the asset that draws the page, after the common one
};
constexpr PageRow kPages[] = {
    {PageKind::kPlan, "ridge plan", "/model", "plan_script"},
    // The original model; the winner's may be a file of another precision.
    {PageKind::kTune, "ridge tune", "/baseline/model", "tune_script"},
    {PageKind::kPowerSweep, "ridge power sweep", "/device", "power_script"},
    {PageKind::kLab, "ridge lab", "/conditions/name", "lab_script"},
};

std::string title_of(const PageRow& row, const Json& value) {
  const Json::json_pointer subject(row.subject);
  if (!value.contains(subject) || !value.at(subject).is_string()) return row.title;
  return fmt::format("{} · {}", row.title, value.at(subject).get<std::string>());
}

// Every @NAME@ of the skeleton, once and from the left: inserted text is not scanned again.
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

std::string page(PageKind kind, const Json& value, Language language) {
  const PageRow& row =
      *std::find_if(std::begin(kPages), std::end(kPages), [&](const PageRow& r) { return r.kind == kind; });
  return filled(asset("frame"), {{{"@LANGUAGE@", language == Language::kChinese ? "zh-CN" : "en"},
                                  {"@TITLE@", escape_html(title_of(row, value))},
                                  {"@STYLE@", std::string(asset("style"))},
                                  {"@DATA@", escape_script_json(dump_json(value))},
                                  {"@CHARTS@", std::string(asset("chart"))},
                                  {"@SCRIPT@", std::string(asset("common_script")) + std::string(asset(row.script))}}});
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
