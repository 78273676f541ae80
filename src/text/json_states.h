// A JsonProgram made deterministic as far as it is used: the branches of a machine together are a state, and what a
// byte leads to is found once (the subset construction of Rabin and Scott 1959, done lazily). Sequences of one grammar
// share it, so that a state that recurs is known at once. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "text/json_machine.h"

namespace ridge::text {

class JsonStates {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};  // what is not allowed leads there

  explicit JsonStates(std::shared_ptr<const JsonProgram> program) : program_(std::move(program)), machine_(*program_) {}

  uint32_t begin();
  uint32_t next(uint32_t state, uint8_t byte) {
    const Row* row = states_[state].row.get();
    const uint32_t known = row ? (*row)[byte] : kUnknown;
    return known != kUnknown ? known : step(state, byte);
  }
  // Sorted, each once.
  const std::vector<JsonBranch>& branches(uint32_t state) const { return states_[state].branches; }
  // The state of some branches; kNone without any.
  uint32_t state_of(std::vector<JsonBranch> branches);
  // The state here for one of another object for the same program.
  uint32_t adopt(const JsonStates& other, uint32_t state);
  bool may_end(uint32_t state) const;
  // The run of the branch that has the most kinds of characters.
  const CharacterRun& run(uint32_t state);
  // The same for all branches, with what else may follow in any, if it goes on and on or theirs are alike; else none.
  const CharacterRun& run_together(uint32_t state);

  JsonMachine& machine() { return machine_; }
  const std::shared_ptr<const JsonProgram>& program() const { return program_; }
  // Branches that were stepped so far, each tens of nanoseconds.
  uint64_t work() const { return work_; }
  // About what it holds.
  size_t bytes() const { return bytes_ + machine_.frames() * 80; }

 private:
  static constexpr uint32_t kUnknown = kNone - 1;
  using Row = std::array<uint32_t, 256>;
  struct State {
    std::vector<JsonBranch> branches;
    std::unique_ptr<Row> row;  // by byte; null: no byte was looked at
    std::unique_ptr<const CharacterRun> run = nullptr, run_together = nullptr;
  };
  uint32_t step(uint32_t state, uint8_t byte);

  std::shared_ptr<const JsonProgram> program_;
  JsonMachine machine_;
  std::vector<State> states_;
  std::unordered_multimap<uint64_t, uint32_t> numbers_;  // by a hash of the branches
  uint64_t work_ = 0;
  size_t bytes_ = 0;
};

}  // namespace ridge::text
