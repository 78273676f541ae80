#include "app/about.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "app/next_steps.h"

namespace ridge::app {

Command command_of(std::string_view verb, std::span<const std::string> arguments, std::string date) {
  Command command{std::string(verb), "ridge " + std::string(verb), std::move(date)};
  for (const std::string& argument : arguments) command.line += " " + shell_word(argument);
  return command;
}

About about(const Command& command, const Result<machine::Machine>& machine) {
  About about;
  about.command = command;
  about.version = RIDGE_VERSION;
  if (machine) about.machine = {machine->cpu.model, machine->cpu.allowed_cpus, machine->id};
  return about;
}

Json document(const About& about, const Json& members) {
  Json json;
  json["about"] = json_of(about);
  json.update(members);
  return json;
}

}  // namespace ridge::app
