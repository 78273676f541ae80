// `about`, the first member of every JSON document of ridge: the document's form, and what wrote it, when, where and by
// which command. A document is what a verb prints with --json, keeps in a file, or draws as a page. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/figure.h"
#include "base/json.h"
#include "base/result.h"
#include "machine/machine.h"

namespace ridge::app {

// Raised when a member of a document changes its meaning; added members do not count.
constexpr int kSchema = 1;

// The command line and its time.
struct Command {
  std::string verb;  // "bench device"
  std::string line;  // for a shell: "ridge bench device --json"
  std::string date;  // UTC, ISO 8601
};
// `arguments` follow the verb's words.
Command command_of(std::string_view verb, std::span<const std::string> arguments, std::string date);

struct About {
  struct Host {
    std::string name;  // of the CPU, as the system has it
    int cpus = 0;      // that ridge may use, by affinity and cpuset
    std::string id;    // machine::machine_id
  };
  int schema = kSchema;
  Command command;
  std::string version;          // of ridge
  std::optional<Host> machine;  // absent: the system does not say
};
void visit_fields(auto& visit, Is<About::Host> auto& host) {
  visit("name", host.name);
  visit("cpus", host.cpus, at_least(0));
  visit("id", host.id);
}
void visit_fields(auto& visit, Is<About> auto& about) {
  visit("schema", about.schema,
        means("the form of the document: 1. Raised when a member changes its meaning; added members do not count"));
  visit("verb", about.command.verb,
        means("`bench`, `bench device`, `tune`, …: the kind of document, by which the sections below describe it")
            .column("verb"));
  visit("ridge", about.version, means("version of the program").column("ridge"));
  visit("date", about.command.date, means("when the command was given: UTC, ISO 8601").column("date"));
  visit("command", about.command.line, means("the command line as typed, quoted for a shell"));
  visit(
      "machine", about.machine,
      means("CPU as the system names it; CPUs that ridge may use, by affinity and cpuset; the name under which limits "
            "and trials are kept: the same as long as nothing changes that could change them. null: the system does "
            "not say"));
}
About about(const Command& command, const Result<machine::Machine>& machine);

// `about`, and after it the members of an object.
Json document(const About& about, const Json& members);

}  // namespace ridge::app
