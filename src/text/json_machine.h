// Runs a JsonProgram byte by byte. What came so far may be read in several ways (anyOf): each is a branch with its own
// stack; stacks share their lower frames, and equal frames are one. One thread. The program outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "text/json_program.h"

namespace ridge::text {

// More ways than these are dropped, the later ones first: output stays valid, some documents are not offered.
constexpr size_t kMostJsonBranches = 1024;

struct JsonBranch {
  uint32_t node = 0;
  uint32_t count = 0;   // characters of a string, values of an array
  uint32_t state = 0;   // within the node: bytes of a literal or of white space, the byte automaton's state
  uint32_t parent = 0;  // frame
  auto operator<=>(const JsonBranch&) const = default;
};

class JsonMachine {
 public:
  explicit JsonMachine(const JsonProgram& program);

  // Appends the ways in which a document begins.
  void begin(std::vector<JsonBranch>& out);
  // Appends what becomes of a branch with one more byte; nothing: it is not allowed there.
  void step(const JsonBranch& branch, uint8_t byte, std::vector<JsonBranch>& out);
  // The bytes that may be allowed: of any other, step() appends nothing.
  ByteSet bytes(const JsonBranch& branch) const;
  // Characters that may follow as they are; `most`: of as many kinds as are easily found.
  CharacterRun run(const JsonBranch& branch, bool most) const;
  bool may_end(const JsonBranch& branch) const { return node_of(branch).kind == JsonNode::kEnd; }
  const JsonNode& node_of(const JsonBranch& branch) const { return program_->nodes[branch.node]; }
  const JsonProgram& program() const { return *program_; }

  // A branch of another machine of the same program, as one of this.
  JsonBranch adopt(const JsonMachine& other, JsonBranch branch);
  size_t frames() const { return frames_.size(); }

 private:
  // Where a rule goes on when the value that it waits for has ended.
  struct Frame {
    uint32_t node = 0, count = 0, parent = 0, depth = 0;
    auto operator<=>(const Frame&) const = default;
  };
  uint32_t push(const Frame& frame);
  uint32_t adopt_frame(const JsonMachine& other, uint32_t frame);
  void expand(uint32_t node, uint32_t count, uint32_t parent, std::vector<JsonBranch>& out);
  // Appends what follows once a string or key of this branch has ended.
  void leave(const JsonBranch& branch, std::vector<JsonBranch>& out);
  void step_text(const JsonBranch& branch, uint8_t byte, std::vector<JsonBranch>& out);

  const JsonProgram* program_;
  std::vector<Frame> frames_;  // the first is the document's
  std::map<Frame, uint32_t> numbers_;
};

}  // namespace ridge::text
