// Which candidates are measured: all are predicted from the step lines of their forms, and those that cannot win are
// skipped and counted. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "llm/cpu/load.h"
#include "tune/language/candidate.h"
#include "tune/space.h"

namespace ridge::tune::language {

// Scheduler settings for this load; the defaults first, then by rising distance from them. All with speculation.
std::vector<Candidate> settings_for(const Form& form, int threads, const llm::cpu::Load& load,
                                    const llm::cpu::Goals& goals);

struct Priced {
  Candidate candidate;
  llm::cpu::Figures predicted;
};

// Candidates of one opened decoder, the best prediction first.
struct Group {
  Form form;
  int threads = 1;
  std::vector<Priced> candidates;
};
struct Selection {
  std::vector<Group> groups;  // the best prediction first
  std::vector<SkipCount> skipped;
};
// `priced`: of one decoder in the order of settings_for(). Each group's best is followed by itself without drafts.
Selection select(std::span<const Priced> priced);

}  // namespace ridge::tune::language
