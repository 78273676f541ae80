// A compiled schema as a pushdown automaton over bytes: nodes of rules that call one another (a recursive transition
// network, Woods 1970), and states of a byte automaton for what has no nesting. json_schema.h makes it, json_machine.h
// runs it. Immutable once made.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "text/character_table.h"
#include "text/json_lexer.h"

namespace ridge::text {

constexpr uint32_t kUnbounded = std::numeric_limits<uint32_t>::max();
constexpr int kMostJsonDepth = 64;  // of values within values
constexpr int kMostSpace = 32;      // white space in a row [bytes]
constexpr uint8_t kNeverEnds = 255;

struct JsonNode {
  enum Kind : uint8_t {
    kLiteral,     // text[a, a + b)
    kSpace,       // up to kMostSpace of white space
    kBytes,       // from state a of the byte automaton to one that accepts
    kText,        // a string of a … b characters
    kCharacters,  // from position a of the character table to its end; b = 1: a plain text
    kAny,         // one of targets[a, b)
    kChoice,      // a or next
    kCall,        // the rule at a, then next; one more value of this rule is counted, up to b
    // next while fewer than b values are counted; c from a on; d, if any, is the rule of those that are owed until then
    kMore,
    kReturn,  // the rule ends
    kEnd,     // the document ends
  };
  Kind kind = kAny;
  uint8_t height = kNeverEnds;  // calls within calls that the way from here to the rule's end needs at least
  uint32_t next = 0, a = 0, b = 0, c = 0, d = 0;
};

// States below the lexer's size are the lexer's.
class ByteAutomaton {
 public:
  static constexpr uint32_t kNoState = JsonLexer::kNoState;

  // Reads one of `words`, whole, from the state that is returned.
  uint32_t add_words(const std::vector<std::string>& words);
  uint32_t add_state(bool accepts);
  uint32_t next_state() const {
    return static_cast<uint32_t>(lexer_.size() + states_.size());
  }  // that add_state() will return
  // Edges of the newest state, by growing bytes.
  void add_edge(uint8_t byte, uint32_t target);

  uint32_t next(uint32_t state, uint8_t byte) const;
  bool accepts(uint32_t state) const;
  bool leads_on(uint32_t state) const { return bytes(state).any(); }
  ByteSet bytes(uint32_t state) const;
  struct Edge {
    uint8_t byte = 0;
    uint32_t target = kNoState;
  };
  // Edges of a state outside the lexer.
  const Edge* begin_edges(uint32_t state) const { return edges_.data() + own(state).first; }
  const Edge* end_edges(uint32_t state) const { return begin_edges(state) + own(state).count; }
  bool is_lexers(uint32_t state) const { return state < lexer_.size(); }
  size_t size() const { return states_.size(); }

 private:
  struct State {
    uint32_t first = 0, count = 0;
    bool accepts = false;
  };
  const State& own(uint32_t state) const { return states_[state - lexer_.size()]; }

  const JsonLexer& lexer_ = json_lexer();
  std::vector<State> states_;
  std::vector<Edge> edges_;
};

struct JsonProgram {
  std::vector<JsonNode> nodes;
  std::vector<uint32_t> targets;
  std::string text;
  ByteAutomaton bytes;
  CharacterTable characters;
  uint32_t begin = 0, end = 0;  // nodes: the document's rule, kEnd
  std::string source;           // what it was compiled from: programs of equal ones are equal
  // Places in the schema (their ends), each of the nodes from a number on.
  std::vector<std::pair<uint32_t, std::string>> places;
  std::string place_of(uint32_t node) const;
};

// Once all nodes are there: targets of kAny that are kAny give way to theirs, and every node gets its height. False:
// more than `most_targets` of one node, or chains of them without end.
bool finish(JsonProgram& program, size_t most_targets);

}  // namespace ridge::text
