// For the tests of the areas: facts from a few lines, and finding a finding.
#pragma once

#include <string>
#include <string_view>

#include "doctor/areas.h"

namespace ridge::doctor {

// `text` in the tree's text form; a machine with four allowed cores of four, 16 GiB.
inline Facts facts_of(std::string_view text) {
  Facts facts;
  facts.tree = machine::parse_tree(text);
  machine::Machine machine;
  machine.cpu.model = "test CPU";
  machine.cpu.physical_cores = machine.cpu.logical_cpus = 4;
  machine.cpu.allowed_cores = machine.cpu.allowed_cpus = 4;
  machine.cpu.isa = {"sse4.2", "avx", "avx2", "fma"};
  machine.memory.total_bytes = int64_t{16} << 30;
  facts.machine = machine;
  return facts;
}

// "fail: evidence | remedy" of the finding with that id; "not found" if there is none.
inline std::string found(const Findings& findings, std::string_view id) {
  for (const Finding& finding : findings)
    if (finding.id == id) {
      std::string text = std::string(verdict_name(finding.verdict)) + ": " + finding.evidence;
      return finding.remedy.empty() ? text : text + " | " + finding.remedy;
    }
  return "not found";
}

}  // namespace ridge::doctor
