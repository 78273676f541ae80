#include "text/json_states.h"

#include <algorithm>

#include "base/random.h"

namespace ridge::text {

uint32_t JsonStates::begin() {
  std::vector<JsonBranch> branches;
  machine_.begin(branches);
  return state_of(std::move(branches));
}

uint32_t JsonStates::state_of(std::vector<JsonBranch> branches) {
  if (branches.empty()) return kNone;
  std::ranges::sort(branches);
  branches.erase(std::unique(branches.begin(), branches.end()), branches.end());
  uint64_t hash = branches.size();
  for (const JsonBranch& branch : branches) {
    hash = split_mix(hash ^ (uint64_t{branch.node} << 32 | branch.state));
    hash = split_mix(hash ^ (uint64_t{branch.parent} << 32 | branch.count));
  }
  const auto [begin, end] = numbers_.equal_range(hash);
  for (auto known = begin; known != end; ++known)
    if (states_[known->second].branches == branches) return known->second;
  const auto number = static_cast<uint32_t>(states_.size());
  numbers_.emplace(hash, number);
  branches.shrink_to_fit();
  bytes_ += branches.size() * sizeof(JsonBranch) + 80;
  states_.push_back({std::move(branches), nullptr});
  return number;
}

uint32_t JsonStates::adopt(const JsonStates& other, uint32_t state) {
  std::vector<JsonBranch> branches;
  for (const JsonBranch& branch : other.branches(state)) branches.push_back(machine_.adopt(other.machine_, branch));
  return state_of(std::move(branches));
}

bool JsonStates::may_end(uint32_t state) const {
  return std::ranges::any_of(branches(state), [&](const JsonBranch& branch) { return machine_.may_end(branch); });
}

const CharacterRun& JsonStates::run(uint32_t state) {
  if (states_[state].run) return *states_[state].run;
  CharacterRun widest;
  for (const JsonBranch& branch : branches(state)) {
    const CharacterRun run = machine_.run(branch, false);
    if (run.kinds.count() > widest.kinds.count()) widest = run;
  }
  bytes_ += sizeof widest;
  return *(states_[state].run = std::make_unique<const CharacterRun>(widest));
}

const CharacterRun& JsonStates::run_together(uint32_t state) {
  if (states_[state].run_together) return *states_[state].run_together;
  CharacterRun widest;
  ByteSet others;
  bool are_known = true, are_alike = true;
  for (const JsonBranch& branch : branches(state)) {
    if (machine_.may_end(branch)) continue;
    const CharacterRun run = machine_.run(branch, true);
    are_alike = are_alike && (others.none() || run.is_like(widest));
    are_known = are_known && run.others.any() && (others.none() || run.after_begun == widest.after_begun);
    others |= run.kinds | run.others;
    if (std::pair(run.kinds.count(), run.length) > std::pair(widest.kinds.count(), widest.length)) widest = run;
  }
  if (!are_known || !(are_alike || widest.length == CharacterRun::kLongest)) widest = {};
  widest.others = others;
  bytes_ += sizeof widest;
  return *(states_[state].run_together = std::make_unique<const CharacterRun>(widest));
}

uint32_t JsonStates::step(uint32_t state, uint8_t byte) {
  if (!states_[state].row) {
    ByteSet bytes;
    for (const JsonBranch& branch : branches(state)) bytes |= machine_.bytes(branch);
    Row& row = *(states_[state].row = std::make_unique<Row>());
    for (size_t i = 0; i < row.size(); ++i) row[i] = bytes[i] ? kUnknown : kNone;
    bytes_ += sizeof(Row);
    if (!bytes[byte]) return kNone;
  }
  std::vector<JsonBranch> next;
  for (const JsonBranch& branch : branches(state)) machine_.step(branch, byte, next);
  work_ += branches(state).size() + next.size();
  const uint32_t target = state_of(std::move(next));
  (*states_[state].row)[byte] = target;
  return target;
}

}  // namespace ridge::text
