#include "front/log_settings.h"

#include <optional>

#include "base/log.h"

namespace ridge::front {
namespace {

struct LevelSwitches {
  bool info, warning, error;
  uint64_t verbose;
  log::Format format;
};

LevelSwitches switches_of(log::Level level) {
  return {level <= log::Level::kInfo, level <= log::Level::kWarning, level <= log::Level::kError,
          level == log::Level::kDebug ? uint64_t{1} : uint64_t{0}, log::format()};
}

Result<log::Level> level_of(const LevelSwitches& on) {
  if (on.verbose > 0) return log::Level::kDebug;
  if ((on.info && !on.warning) || (on.warning && !on.error))
    return invalid(
        "a level of the log is on only with those above it: log_info needs log_warning, that needs log_error");
  return on.info      ? log::Level::kInfo
         : on.warning ? log::Level::kWarning
         : on.error   ? log::Level::kError
                      : log::Level::kOff;
}

Status set_switch(const std::string& name, const LogValue& value, bool& into) {
  const bool* on = std::get_if<bool>(&value);
  if (on == nullptr) return invalid("'" + name + "' should be true or false");
  into = *on;
  return {};
}

Status change(LevelSwitches& on, const std::string& name, const LogValue& value) {
  if (name == "log_info") return set_switch(name, value, on.info);
  if (name == "log_warning") return set_switch(name, value, on.warning);
  if (name == "log_error") return set_switch(name, value, on.error);
  if (name == "log_verbose_level") {
    const uint64_t* level = std::get_if<uint64_t>(&value);
    if (level == nullptr) return invalid("'log_verbose_level' should be an unsigned integer");
    on.verbose = *level;
    return {};
  }
  if (name == "log_format") {
    const std::string* text = std::get_if<std::string>(&value);
    const std::optional<log::Format> format = text == nullptr ? std::nullopt : log::format_of(*text);
    if (!format) return invalid("'log_format' should be default, ISO8601, text (all three the same here) or json");
    on.format = *format;
    return {};
  }
  if (name == "log_file") return invalid("'log_file' cannot be changed: the log goes to standard error");
  return invalid("no setting of the log is called '" + name.substr(0, 80) + "'");
}

}  // namespace

LogSettings log_settings() {
  const LevelSwitches on = switches_of(log::level());
  return {{"log_file", std::string()},
          {"log_info", on.info},
          {"log_warning", on.warning},
          {"log_error", on.error},
          {"log_verbose_level", on.verbose},
          {"log_format", std::string(on.format == log::Format::kJson ? "json" : "default")}};
}

Status change_log_settings(const LogSettings& changes) {
  LevelSwitches on = switches_of(log::level());
  for (const auto& [name, value] : changes) RIDGE_TRY(change(on, name, value));
  if (changes.empty()) return {};
  RIDGE_ASSIGN(log::Level level, level_of(on));
  log::set_level(level);
  log::set_format(on.format);
  return {};
}

}  // namespace ridge::front
