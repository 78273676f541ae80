#include "text/character_table.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "text/json_program.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr std::pair<uint8_t, char32_t> kShortEscapes[] = {{'"', '"'},  {'\\', '\\'}, {'b', '\b'}, {'f', '\f'},
                                                          {'n', '\n'}, {'r', '\r'},  {'t', '\t'}};
constexpr bool has_short_escape(char32_t c) { return c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t'; }

// Characters whose UTF-8 begins so, with the number of bytes that follow.
struct Characters {
  char32_t first = 0, last = 0;
  bool narrowed = false;  // not every byte of 80 … BF may follow
};
Characters characters_of(int bytes_left, char32_t bits) {
  const char32_t first = bits << (6 * bytes_left), last = first | ((char32_t{1} << (6 * bytes_left)) - 1);
  Characters found{first, std::min(last, kLastCodePoint)};
  if (bits == 0) found.first = bytes_left == 3 ? 0x10000 : 0x800;
  if (found.last == kLastSurrogate) found.last = kFirstSurrogate - 1;
  found.narrowed = found.first != first || found.last != last;
  return found;
}
std::pair<int, char32_t> begun_by(uint8_t lead) {
  if (lead < 0xe0) return {1, lead & 0x1fU};
  return lead < 0xf0 ? std::pair{2, char32_t{lead & 0x0fU}} : std::pair{3, char32_t{lead & 0x07U}};
}
uint8_t lead_of(char32_t c) {
  if (c < 0x800) return static_cast<uint8_t>(0xc0 | (c >> 6));
  return static_cast<uint8_t>(c < 0x10000 ? 0xe0 | (c >> 12) : 0xf0 | (c >> 18));
}

bool needs_escape(uint8_t byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

struct SecondKind {
  char32_t first = 0, last = 0;
  uint8_t kind = 0;
};
constexpr SecondKind kSecondKinds[] = {{0xa0, 0xa0, kOtherSpace},     {0x1680, 0x1680, kOtherSpace},
                                       {0x2000, 0x200a, kOtherSpace}, {0x2028, 0x2029, kLineEnd},
                                       {0x202f, 0x202f, kOtherSpace}, {0x205f, 0x205f, kOtherSpace},
                                       {0x3000, 0x3000, kOtherSpace}, {0xfeff, 0xfeff, kOtherSpace}};

// Adds the kinds of some of these characters.
void add_kinds(char32_t first, char32_t last, ByteSet& kinds) {
  for (char32_t c = first; c <= std::min<char32_t>(last, 0x7f); ++c) kinds.set(c);
  if (last < 0x80) return;
  for (int lead = lead_of(std::max<char32_t>(first, 0x80)); lead <= lead_of(last); ++lead) kinds.set(lead);
  for (const SecondKind& second : kSecondKinds)
    if (first <= second.last && second.first <= last) kinds.set(second.kind);
}

// Edges lead on from each of these characters, but for those of second kinds if they do not `count`.
bool has_all(const CharacterAutomaton::State& state, char32_t first, char32_t last, bool count = true) {
  while (first <= last) {
    if (const CharacterAutomaton::Edge* edge = state.edge_at(first)) {
      first = edge->last + 1;
      continue;
    }
    if (first == kFirstSurrogate) {
      first = kLastSurrogate + 1;
      continue;
    }
    if (count || second_kind_of(first) == 0) return false;
    ++first;
  }
  return true;
}
bool has_all(const CharacterAutomaton::State& state, const CharacterAutomaton::State& others) {
  return std::ranges::all_of(others.edges, [&](const auto& edge) { return has_all(state, edge.first, edge.last); });
}

// The kinds of which all characters are there.
ByteSet whole_kinds(const CharacterAutomaton::State& state) {
  ByteSet kinds;
  for (const CharacterAutomaton::Edge& edge : state.edges) add_kinds(edge.first, edge.last, kinds);
  for (uint32_t lead = 0xc2; lead <= 0xf4; ++lead) {
    const auto [bytes_left, bits] = begun_by(static_cast<uint8_t>(lead));
    const Characters all = characters_of(bytes_left, bits);
    kinds[lead] = kinds[lead] && has_all(state, all.first, all.last, false);
  }
  for (const SecondKind& second : kSecondKinds)
    kinds[second.kind] = kinds[second.kind] && has_all(state, second.first, second.last);
  return kinds;
}

}  // namespace

uint8_t second_kind_of(char32_t character) {
  for (const SecondKind& second : kSecondKinds)
    if (second.first <= character && character <= second.last) return second.kind;
  return 0;
}

std::optional<uint32_t> CharacterTable::add(const CharacterAutomaton& automaton) {
  const auto first = static_cast<uint32_t>(states_.size());
  if (first + automaton.states().size() > kMostStates) return std::nullopt;
  ByteSet& kinds = kinds_.emplace_back(first, ByteSet()).second;
  CharacterAutomaton::Edge last{.first = 1};
  for (CharacterAutomaton::State state : automaton.states()) {
    for (CharacterAutomaton::Edge& edge : state.edges) {
      edge.target += first;
      if (edge.first != last.first || edge.last != last.last) add_kinds(edge.first, edge.last, kinds);
      last = edge;
    }
    states_.push_back(std::move(state));
  }
  return position_of(first, kBefore);
}

uint32_t CharacterTable::after(uint32_t state, char32_t character) const {
  const CharacterAutomaton::Edge* edge = states_[state].edge_at(character);
  return edge ? position_of(edge->target, kBetween) : kNone;
}

// Where all characters that begin so lead to one state, that is where it stands, and which they were is forgotten.
uint32_t CharacterTable::begun(uint32_t state, int bytes_left, char32_t bits) const {
  const Characters characters = characters_of(bytes_left, bits);
  const auto& edges = states_[state].edges;
  const auto edge = std::ranges::lower_bound(edges, characters.first, {}, &CharacterAutomaton::Edge::last);
  if (characters.first > characters.last || edge == edges.end() || edge->first > characters.last) return kNone;
  if (!characters.narrowed && edge->first <= characters.first && edge->last >= characters.last)
    return position_of(edge->target, kAny + bytes_left);
  return position_of(state, bits + (bytes_left == 3 ? kThree : bytes_left == 2 ? kTwo : kOne));
}

// After a \ and what follows it: some character that is written so is allowed.
uint32_t CharacterTable::escape_begun(uint32_t state, uint32_t code) const {
  for (char32_t c = 0; c <= '\\'; ++c) {
    if (!needs_escape(static_cast<uint8_t>(c))) continue;
    const bool is_short = c >= 0x20 || has_short_escape(c);
    const bool fits = code == kEscape || (!is_short && (code < 6 || (code == 6) == (c < 0x10)));
    if (fits && states_[state].edge_at(c)) return position_of(state, code);
  }
  return kNone;
}

uint32_t CharacterTable::escape(uint32_t state, uint32_t code, uint8_t byte) const {
  if (code == kEscape) {
    for (const auto& [letter, character] : kShortEscapes)
      if (byte == letter) return after(state, character);
    return byte == 'u' ? escape_begun(state, 3) : kNone;
  }
  if (code < 6) {
    const bool fits = byte == '0' || (code == 5 && byte == '1');
    return fits ? escape_begun(state, code + 1 + (byte == '1' ? 1 : 0)) : kNone;
  }
  const std::string_view digits = "0123456789abcdef";
  const size_t digit = digits.find(static_cast<char>(byte));
  const char32_t character = static_cast<char32_t>(digit) + (code == 7 ? 0x10 : 0);
  return digit == std::string_view::npos || has_short_escape(character) ? kNone : after(state, character);
}

uint32_t CharacterTable::next(uint32_t position, uint8_t byte, bool text) const {
  const uint32_t state = state_of(position), code = code_of(position);
  if (code == kBefore) return byte == '"' ? position_of(state, kBetween) : kNone;
  if (code == kBetween) {
    if (!text && byte == '"') return states_[state].accepts ? kEnded : kNone;
    if (!text && byte == '\\') return escape_begun(state, kEscape);
    if (!text && byte < 0x20) return kNone;
    if (byte < 0x80) return after(state, byte);
    if (byte < 0xc2 || byte > 0xf4) return kNone;
    const auto [bytes_left, bits] = begun_by(byte);
    return begun(state, bytes_left, bits);
  }
  if (code < kAny) return escape(state, code, byte);
  if (byte < 0x80 || byte > 0xbf) return kNone;
  if (code < kThree) return code == kAny + 1 ? position_of(state, kBetween) : position - 1;
  const int bytes_left = code < kTwo ? 3 : code < kOne ? 2 : 1;
  const char32_t before = code - (bytes_left == 3 ? kThree : bytes_left == 2 ? kTwo : kOne);
  const char32_t bits = before << 6 | (byte & 0x3fU);
  const Characters all = characters_of(bytes_left, before);
  if (bytes_left == 1) return after(state, bits);
  const int rest = 6 * (bytes_left - 1);
  return bits < all.first >> rest || bits > all.last >> rest ? kNone : begun(state, bytes_left - 1, bits);
}

ByteSet CharacterTable::bytes(uint32_t position, bool text) const {
  ByteSet bytes;
  const uint32_t code = code_of(position);
  if (code == kBefore) return bytes.set('"');
  if (code == kBetween) {
    if (!text) bytes.set('"').set('\\');
    for (const CharacterAutomaton::Edge& edge : states_[state_of(position)].edges)
      add_kinds(edge.first, edge.last, bytes);
    return bytes;
  }
  const auto [first, last] = code < kAny ? std::pair{0x20, 0x7f} : std::pair{0x80, 0xbf};
  for (int byte = first; byte <= last; ++byte) bytes.set(byte);
  return bytes;
}

// Characters that lead on for ever: from one to another of some states that are reached from this one, each of which
// reads all of `least`; none where that takes long.
CharacterAutomaton::State CharacterTable::characters_for_ever(uint32_t state,
                                                              const CharacterAutomaton::State& least) const {
  constexpr size_t kMostReached = 64, kMostEdges = 64;
  std::vector<uint32_t> reached{state};
  const auto is_reached = [&](uint32_t other) { return std::ranges::find(reached, other) != reached.end(); };
  for (size_t i = 0; i < reached.size(); ++i) {
    if (states_[reached[i]].edges.size() > kMostEdges) return {};
    for (const CharacterAutomaton::Edge& edge : states_[reached[i]].edges)
      if (reached.size() < kMostReached && !is_reached(edge.target) && has_all(states_[edge.target], least))
        reached.push_back(edge.target);
  }
  CharacterAutomaton::State all{.edges = {{0, kLastCodePoint, 0}}};
  for (const uint32_t from : reached) {
    if (all.edges.size() > kMostEdges) return {};
    CharacterAutomaton::State both;
    for (const CharacterAutomaton::Edge& edge : states_[from].edges) {
      if (!is_reached(edge.target)) continue;
      for (const CharacterAutomaton::Edge& known : all.edges)
        both.add(std::max(edge.first, known.first), std::min(edge.last, known.last), 0);
    }
    all = std::move(both);
  }
  return all;
}

// The characters are those that lead to where most of them lead.
CharacterRun CharacterTable::run(uint32_t position, bool text, bool most) const {
  CharacterRun run;
  const uint32_t code = code_of(position);
  if (code != kBetween && (code <= kAny || code >= kThree)) return run;
  run.after_begun = code != kBetween;
  uint32_t at = state_of(position);
  const auto next = std::ranges::upper_bound(kinds_, at, {}, &std::pair<uint32_t, ByteSet>::first);
  run.others = std::prev(next)->second;
  CharacterAutomaton::State characters = states_[at];
  if (!characters.edges.empty()) {
    const auto most_lead_to = [](const CharacterAutomaton::State& state) {
      const auto size = [](const CharacterAutomaton::Edge& edge) { return edge.last - edge.first; };
      return std::ranges::max_element(state.edges, {}, size)->target;
    };
    uint32_t target = most_lead_to(characters);
    std::erase_if(characters.edges, [&](const CharacterAutomaton::Edge& edge) { return edge.target != target; });
    for (run.length = 1; run.length < CharacterRun::kLongest; ++run.length) {
      if (target == at) {
        run.length = CharacterRun::kLongest;
        if (!most) break;
        CharacterAutomaton::State for_ever = characters_for_ever(state_of(position), characters);
        if (has_all(for_ever, characters)) characters = std::move(for_ever);
        break;
      }
      at = target;
      const CharacterAutomaton::State& here = states_[at];
      run.ends = std::ranges::none_of(here.edges, [&](const CharacterAutomaton::Edge& edge) {
        return std::ranges::any_of(characters.edges, [&](const CharacterAutomaton::Edge& own) {
          return own.first <= edge.last && edge.first <= own.last;
        });
      });
      if (run.ends) break;
      target = most_lead_to(here);
      const bool same = std::ranges::all_of(characters.edges, [&](const CharacterAutomaton::Edge& edge) {
        const CharacterAutomaton::Edge* own = here.edge_at(edge.first);
        return own && own->last >= edge.last && own->target == target;
      });
      if (!same) break;
    }
    run.kinds = whole_kinds(characters);
  }
  if (text) return run;
  bool escapes = false;
  for (uint8_t byte = 0; byte <= '\\'; ++byte) {
    if (!needs_escape(byte)) continue;
    escapes = escapes || run.others[byte];
    run.kinds.reset(byte);
    run.others.reset(byte);
  }
  run.others.set('"');
  run.others['\\'] = escapes;
  return run;
}

}  // namespace ridge::text
