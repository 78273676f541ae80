#include "text/json_machine.h"

#include <algorithm>

namespace ridge::text {
namespace {

constexpr size_t kCompared = 16;  // of the newest branches, for one that is there already

void add_branch(const JsonBranch& branch, std::vector<JsonBranch>& out) {
  const size_t compared = std::min(kCompared, out.size());
  if (out.size() < kMostJsonBranches && std::find(out.end() - compared, out.end(), branch) == out.end())
    out.push_back(branch);
}

bool is_json_space(uint8_t byte) { return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'; }

}  // namespace

JsonMachine::JsonMachine(const JsonProgram& program) : program_(&program), frames_{{.node = program.end}} {}

void JsonMachine::begin(std::vector<JsonBranch>& out) { expand(program_->begin, 0, 0, out); }

uint32_t JsonMachine::push(const Frame& frame) {
  const auto [entry, added] = numbers_.emplace(frame, static_cast<uint32_t>(frames_.size()));
  if (added) frames_.push_back(frame);
  return entry->second;
}

uint32_t JsonMachine::adopt_frame(const JsonMachine& other, uint32_t frame) {
  if (frame == 0) return 0;
  Frame own = other.frames_[frame];
  own.parent = adopt_frame(other, own.parent);
  return push(own);
}

JsonBranch JsonMachine::adopt(const JsonMachine& other, JsonBranch branch) {
  branch.parent = adopt_frame(other, branch.parent);
  return branch;
}

// Follows a node to those that read bytes. Ways that cannot end within the depth that is left are not taken: every
// branch leads to a whole document.
void JsonMachine::expand(uint32_t node, uint32_t count, uint32_t parent, std::vector<JsonBranch>& out) {
  for (;;) {
    const JsonNode& here = program_->nodes[node];
    if (frames_[parent].depth + here.height > kMostJsonDepth) return;
    switch (here.kind) {
      case JsonNode::kAny:
        for (uint32_t i = here.a; i < here.b; ++i) expand(program_->targets[i], count, parent, out);
        return;
      case JsonNode::kChoice:
        expand(here.a, count, parent, out);
        node = here.next;
        break;
      case JsonNode::kCall:
        parent = push({here.next, std::min(count + 1, here.b), parent, frames_[parent].depth + 1});
        node = here.a;
        count = 0;
        break;
      case JsonNode::kMore:
        if (count >= here.a) expand(here.c, count, parent, out);
        if (count >= here.b) return;
        node = here.next;
        break;
      case JsonNode::kReturn: {
        const Frame& frame = frames_[parent];
        node = frame.node;
        count = frame.count;
        parent = frame.parent;
        break;
      }
      case JsonNode::kSpace:
        add_branch({node, count, 0, parent}, out);
        node = here.next;
        break;
      case JsonNode::kBytes:
        add_branch({node, count, here.a, parent}, out);
        if (!program_->bytes.accepts(here.a)) return;
        node = here.next;
        break;
      case JsonNode::kCharacters:
        add_branch({node, count, here.a, parent}, out);
        if (here.b == 0 || !program_->characters.accepts(here.a)) return;
        node = here.next;
        break;
      case JsonNode::kText: return add_branch({node, count, json_lexer().text_start, parent}, out);
      case JsonNode::kLiteral:
      case JsonNode::kEnd: return add_branch({node, count, 0, parent}, out);
    }
  }
}

void JsonMachine::step(const JsonBranch& branch, uint8_t byte, std::vector<JsonBranch>& out) {
  const JsonNode& node = node_of(branch);
  switch (node.kind) {
    case JsonNode::kLiteral:
      if (static_cast<uint8_t>(program_->text[node.a + branch.state]) != byte) return;
      if (branch.state + 1 == node.b) return expand(node.next, branch.count, branch.parent, out);
      return add_branch({branch.node, branch.count, branch.state + 1, branch.parent}, out);
    case JsonNode::kSpace:
      if (!is_json_space(byte)) return;
      if (branch.state + 1 < kMostSpace) add_branch({branch.node, branch.count, branch.state + 1, branch.parent}, out);
      return expand(node.next, branch.count, branch.parent, out);
    case JsonNode::kBytes: {
      const uint32_t state = program_->bytes.next(branch.state, byte);
      if (state == ByteAutomaton::kNoState) return;
      if (program_->bytes.leads_on(state)) add_branch({branch.node, branch.count, state, branch.parent}, out);
      if (program_->bytes.accepts(state)) expand(node.next, branch.count, branch.parent, out);
      return;
    }
    case JsonNode::kCharacters: {
      const CharacterTable& characters = program_->characters;
      const uint32_t position = characters.next(branch.state, byte, node.b == 1);
      if (position == CharacterTable::kNone) return;
      const bool ended = position == CharacterTable::kEnded;
      if (!ended) add_branch({branch.node, branch.count, position, branch.parent}, out);
      if (ended || (node.b == 1 && characters.accepts(position))) leave(branch, out);
      return;
    }
    case JsonNode::kText: return step_text(branch, byte, out);
    default: return;
  }
}

// A character counts from its first byte on, so that one which is begun may end.
void JsonMachine::step_text(const JsonBranch& branch, uint8_t byte, std::vector<JsonBranch>& out) {
  const JsonNode& node = node_of(branch);
  const JsonLexer& lexer = json_lexer();
  const uint32_t state = lexer.next(branch.state, byte);
  if (state == JsonLexer::kNoState) return;
  uint32_t count = branch.count;
  if (lexer.accepts(state)) {
    if (count >= node.a) leave(branch, out);
    return;
  }
  if (branch.state == lexer.text) {
    if (count >= node.b) return;
    count = std::min(count + 1, node.b == kUnbounded ? node.a : node.b);
  }
  add_branch({branch.node, count, state, branch.parent}, out);
}

void JsonMachine::leave(const JsonBranch& branch, std::vector<JsonBranch>& out) {
  expand(node_of(branch).next, branch.count, branch.parent, out);
}

ByteSet JsonMachine::bytes(const JsonBranch& branch) const {
  const JsonNode& node = node_of(branch);
  ByteSet bytes;
  switch (node.kind) {
    case JsonNode::kLiteral: return bytes.set(static_cast<uint8_t>(program_->text[node.a + branch.state]));
    case JsonNode::kSpace: return bytes.set(' ').set('\n').set('\r').set('\t');
    case JsonNode::kBytes: return program_->bytes.bytes(branch.state);
    case JsonNode::kCharacters: return program_->characters.bytes(branch.state, node.b == 1);
    case JsonNode::kText: return json_lexer().bytes(branch.state);
    default: return bytes;
  }
}

CharacterRun JsonMachine::run(const JsonBranch& branch, bool most) const {
  const JsonNode& node = node_of(branch);
  if (node.kind == JsonNode::kCharacters) return program_->characters.run(branch.state, node.b == 1, most);
  if (node.kind != JsonNode::kText || branch.state != json_lexer().text) return {};
  CharacterRun run{.kinds = json_lexer().bytes(branch.state), .others = {}, .ends = node.b != kUnbounded};
  run.length = std::min(CharacterRun::kLongest, node.b - (run.ends ? branch.count : 0));
  run.kinds.reset('"').reset('\\').set(kLineEnd).set(kOtherSpace);
  run.others.set('"').set('\\');
  return run;
}

}  // namespace ridge::text
