#include "text/json_program.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

namespace ridge::text {

uint32_t ByteAutomaton::add_state(bool accepts) {
  states_.push_back({.first = static_cast<uint32_t>(edges_.size()), .accepts = accepts});
  return next_state() - 1;
}

void ByteAutomaton::add_edge(uint8_t byte, uint32_t target) {
  edges_.push_back({byte, target});
  ++states_.back().count;
}

uint32_t ByteAutomaton::add_words(const std::vector<std::string>& words) {
  struct Letter {
    std::map<uint8_t, uint32_t> next;
    bool ends = false;
  };
  std::vector<Letter> letters(1);
  for (const std::string& word : words) {
    uint32_t at = 0;
    for (const char c : word) {
      const auto [edge, added] =
          letters[at].next.emplace(static_cast<uint8_t>(c), static_cast<uint32_t>(letters.size()));
      at = edge->second;
      if (added) letters.emplace_back();
    }
    letters[at].ends = true;
  }
  const uint32_t root = next_state();
  for (const Letter& letter : letters) {
    add_state(letter.ends);
    for (const auto& [byte, target] : letter.next) add_edge(byte, root + target);
  }
  return root;
}

uint32_t ByteAutomaton::next(uint32_t state, uint8_t byte) const {
  if (is_lexers(state)) return lexer_.next(state, byte);
  const Edge* end = end_edges(state);
  const Edge* edge =
      std::lower_bound(begin_edges(state), end, byte, [](const Edge& e, uint8_t b) { return e.byte < b; });
  return edge != end && edge->byte == byte ? edge->target : kNoState;
}

bool ByteAutomaton::accepts(uint32_t state) const {
  return is_lexers(state) ? lexer_.accepts(state) : own(state).accepts;
}

ByteSet ByteAutomaton::bytes(uint32_t state) const {
  if (is_lexers(state)) return lexer_.bytes(state);
  ByteSet bytes;
  for (const Edge *edge = begin_edges(state), *end = end_edges(state); edge != end; ++edge) bytes.set(edge->byte);
  return bytes;
}

namespace {

constexpr size_t kMostTargetsVisited = 5'000'000;  // of all nodes: tens of milliseconds

// Finds the targets of kAny, through others of its kind: each once, in order.
class TargetSearch {
 public:
  explicit TargetSearch(const JsonProgram& program) : program_(program), seen_(program.nodes.size(), 0) {}

  const std::vector<uint32_t>& from(uint32_t node) {
    ++round_;
    found_.clear();
    open_ = {node};
    while (!open_.empty()) {
      const uint32_t at = open_.back();
      open_.pop_back();
      if (++visited_ > kMostTargetsVisited) break;
      if (seen_[at] == round_) continue;
      seen_[at] = round_;
      const JsonNode& here = program_.nodes[at];
      if (here.kind == JsonNode::kAny) {
        for (uint32_t i = here.b; i > here.a; --i) open_.push_back(program_.targets[i - 1]);
      } else {
        found_.push_back(at);
      }
    }
    return found_;
  }
  bool exhausted() const { return visited_ > kMostTargetsVisited; }

 private:
  const JsonProgram& program_;
  std::vector<uint32_t> seen_, open_, found_;  // seen: in which round
  uint32_t round_ = 0;
  size_t visited_ = 0;
};

uint8_t height_of(const JsonProgram& program, const JsonNode& node) {
  const auto at = [&](uint32_t index) { return program.nodes[index].height; };
  const auto called = [&](uint32_t index) { return static_cast<uint8_t>(std::min<int>(at(index) + 1, kNeverEnds)); };
  switch (node.kind) {
    case JsonNode::kReturn:
    case JsonNode::kEnd: return 0;
    case JsonNode::kAny: {
      uint8_t least = kNeverEnds;
      for (uint32_t i = node.a; i < node.b; ++i) least = std::min(least, at(program.targets[i]));
      return least;
    }
    case JsonNode::kChoice: return std::min(at(node.a), at(node.next));
    case JsonNode::kCall: return std::max(called(node.a), at(node.next));
    case JsonNode::kMore: {
      if (node.a == 0) return std::min(at(node.c), at(node.next));
      return std::max(at(node.c), node.d != 0 ? called(node.d) : at(node.next));
    }
    default: return at(node.next);
  }
}

template <typename F>
void for_each_successor(const JsonProgram& program, const JsonNode& node, F visit) {
  switch (node.kind) {
    case JsonNode::kReturn:
    case JsonNode::kEnd: return;
    case JsonNode::kAny:
      for (uint32_t i = node.a; i < node.b; ++i) visit(program.targets[i]);
      return;
    case JsonNode::kChoice:
    case JsonNode::kCall: visit(node.a); break;
    case JsonNode::kMore:
      visit(node.c);
      visit(node.d);
      break;
    default: break;
  }
  visit(node.next);
}

// The least solution: nodes are looked at again when one that they depend on has become less.
void set_heights(JsonProgram& program) {
  std::vector<std::vector<uint32_t>> dependents(program.nodes.size());
  std::deque<uint32_t> open;
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    for_each_successor(program, program.nodes[i], [&](uint32_t successor) { dependents[successor].push_back(i); });
    open.push_back(i);
  }
  while (!open.empty()) {
    const uint32_t at = open.front();
    open.pop_front();
    const uint8_t height = height_of(program, program.nodes[at]);
    if (height >= program.nodes[at].height) continue;
    program.nodes[at].height = height;
    open.insert(open.end(), dependents[at].begin(), dependents[at].end());
  }
}

}  // namespace

std::string JsonProgram::place_of(uint32_t node) const {
  const auto after = std::ranges::upper_bound(places, node, {}, &std::pair<uint32_t, std::string>::first);
  return after == places.begin() ? "#" : std::prev(after)->second;
}

bool finish(JsonProgram& program, size_t most_targets) {
  TargetSearch search(program);
  std::vector<uint32_t> flat;
  std::vector<std::pair<uint32_t, uint32_t>> ranges(program.nodes.size());
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    if (program.nodes[i].kind != JsonNode::kAny) continue;
    const std::vector<uint32_t>& found = search.from(i);
    if (search.exhausted() || found.size() > most_targets) return false;
    ranges[i] = {static_cast<uint32_t>(flat.size()), static_cast<uint32_t>(flat.size() + found.size())};
    flat.insert(flat.end(), found.begin(), found.end());
  }
  program.targets = std::move(flat);
  for (uint32_t i = 0; i < program.nodes.size(); ++i)
    if (program.nodes[i].kind == JsonNode::kAny) std::tie(program.nodes[i].a, program.nodes[i].b) = ranges[i];
  set_heights(program);
  return true;
}

}  // namespace ridge::text
