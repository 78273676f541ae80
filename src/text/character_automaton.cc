#include "text/character_automaton.h"

#include <algorithm>
#include <map>
#include <utility>

#include "text/json_program.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr size_t kMostPatternParts = 50'000;
constexpr uint32_t kNowhere = ~uint32_t{0};

// A regular expression as a nondeterministic automaton (Thompson 1968).
class ExpressionStates {
 public:
  struct State {
    std::vector<CharacterAutomaton::Edge> edges;
    std::vector<uint32_t> free;  // reached without a character
  };

  // False: more states than are kept.
  bool add(const RegularExpression& expression) {
    end_ = add_part(expression, add());
    std::erase_if(loops_, [&](uint32_t loop) { return !leads_to_end(loop); });
    return states_.size() <= kMostPatternParts;
  }
  const State& state(uint32_t number) const { return states_[number]; }
  uint32_t end() const { return end_; }
  // Any text leads from it to the end, whichever other states a set has; one set of such states stands for all.
  bool takes_all(uint32_t state) const { return std::ranges::binary_search(loops_, state); }
  std::vector<uint32_t> those_that_take_all() const {
    return {std::min(loops_.front(), end_), std::max(loops_.front(), end_)};
  }

 private:
  uint32_t add() {
    states_.emplace_back();
    return static_cast<uint32_t>(states_.size() - 1);
  }

  // Adds a path from one state to the state that it returns.
  uint32_t add_part(const RegularExpression& part, uint32_t from) {
    if (states_.size() > kMostPatternParts) return from;
    switch (part.kind) {
      case RegularExpression::kCharacters: {
        const uint32_t to = add();
        for (const CharacterRange& range : part.ranges) states_[from].edges.push_back({range.first, range.last, to});
        return to;
      }
      case RegularExpression::kSequence:
        for (const RegularExpression& each : part.parts) from = add_part(each, from);
        return from;
      case RegularExpression::kChoice: {
        const uint32_t to = add();
        for (const RegularExpression& each : part.parts) {
          const uint32_t end = add_part(each, from);
          states_[end].free.push_back(to);
        }
        return to;
      }
      case RegularExpression::kRepeat: return add_repeat(part, from);
    }
    return from;
  }

  uint32_t add_repeat(const RegularExpression& part, uint32_t from) {
    const RegularExpression& inner = part.parts.front();
    for (uint32_t i = 0; i < part.least && states_.size() <= kMostPatternParts; ++i) from = add_part(inner, from);
    const uint32_t to = add();
    if (part.most == kUnbounded) {
      const uint32_t begin = add();
      states_[from].free.push_back(begin);
      const uint32_t end = add_part(inner, begin);
      states_[end].free.push_back(begin);
      states_[begin].free.push_back(to);
      if (inner.kind == RegularExpression::kCharacters && inner.ranges.size() == 1 && inner.ranges[0].first == 0 &&
          inner.ranges[0].last == kLastCodePoint)
        loops_.push_back(begin);
      return to;
    }
    for (uint32_t i = part.least; i < part.most && states_.size() <= kMostPatternParts; ++i) {
      states_[from].free.push_back(to);
      from = add_part(inner, from);
    }
    states_[from].free.push_back(to);
    return to;
  }

  // Looks at a few steps without a character.
  bool leads_to_end(uint32_t from) const {
    constexpr int kMostSteps = 20;
    for (int i = 0; i < kMostSteps && from != end_ && !states_[from].free.empty(); ++i)
      from = states_[from].free.back();
    return from == end_;
  }

  std::vector<State> states_;
  std::vector<uint32_t> loops_;  // of any characters, that lead to the end; growing
  uint32_t end_ = 0;
};

// The same texts, one state at a time (the subset construction of Rabin and Scott 1959).
class SubsetStates {
 public:
  SubsetStates(const ExpressionStates& expression, size_t& work) : expression_(expression), work_(work) {}

  // False: more states or work than are kept.
  bool build(std::vector<CharacterAutomaton::State>& states) {
    number_of({0});
    for (uint32_t at = 0; at < sets_.size(); ++at) {
      if (sets_.size() > CharacterAutomaton::kMostStates || work_ > CharacterAutomaton::kMostWork) return false;
      CharacterAutomaton::State& state = states.emplace_back();
      state.accepts = std::ranges::binary_search(*sets_[at], expression_.end());
      add_edges(*sets_[at], state);
    }
    return work_ <= CharacterAutomaton::kMostWork;
  }

 private:
  using Set = std::vector<uint32_t>;  // sorted

  uint32_t number_of(Set from) {
    Set open = from;
    std::ranges::sort(from);
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t next : expression_.state(at).free) {
        const auto place = std::ranges::lower_bound(from, next);
        if (place != from.end() && *place == next) continue;
        if (expression_.takes_all(next)) {
          from = expression_.those_that_take_all();
          open.clear();
          break;
        }
        work_ += from.size();
        if (work_ > CharacterAutomaton::kMostWork) break;
        from.insert(place, next);
        open.push_back(next);
      }
    }
    const auto [entry, added] = numbers_.emplace(std::move(from), static_cast<uint32_t>(sets_.size()));
    if (added) sets_.push_back(&entry->first);
    return entry->second;
  }

  // Characters between two bounds of edges lead to the same states.
  void add_edges(const Set& set, CharacterAutomaton::State& state) {
    std::vector<CharacterAutomaton::Edge> edges;
    std::vector<char32_t> bounds;
    for (const uint32_t from : set)
      for (const CharacterAutomaton::Edge& edge : expression_.state(from).edges) {
        edges.push_back(edge);
        bounds.push_back(edge.first);
        bounds.push_back(edge.last + 1);
      }
    std::ranges::sort(bounds);
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    work_ += edges.size() * (bounds.size() + 1);
    if (work_ > CharacterAutomaton::kMostWork) return;
    for (size_t i = 0; i + 1 < bounds.size(); ++i) {
      Set reached;
      for (const CharacterAutomaton::Edge& edge : edges)
        if (edge.first <= bounds[i] && bounds[i] <= edge.last) reached.push_back(edge.target);
      if (reached.empty()) continue;
      std::ranges::sort(reached);
      reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
      state.add(bounds[i], bounds[i + 1] - 1, number_of(std::move(reached)));
    }
  }

  const ExpressionStates& expression_;
  std::map<Set, uint32_t> numbers_;
  std::vector<const Set*> sets_;
  size_t& work_;
};

}  // namespace

void CharacterAutomaton::State::add(char32_t first, char32_t last, uint32_t to) {
  if (first >= kFirstSurrogate && first <= kLastSurrogate) first = kLastSurrogate + 1;
  if (last >= kFirstSurrogate && last <= kLastSurrogate) last = kFirstSurrogate - 1;
  if (first > last) return;
  if (!edges.empty() && edges.back().target == to && edges.back().last + 1 == first)
    edges.back().last = last;
  else
    edges.push_back({first, last, to});
}

const CharacterAutomaton::Edge* CharacterAutomaton::State::edge_at(char32_t character) const {
  const auto edge = std::ranges::lower_bound(edges, character, {}, &Edge::last);
  return edge == edges.end() || edge->first > character ? nullptr : &*edge;
}

CharacterAutomaton CharacterAutomaton::of_lengths(uint32_t least, uint32_t most) {
  CharacterAutomaton made;
  const uint32_t last = most == kUnbounded ? least : most;
  for (uint32_t i = 0; i <= last; ++i) {
    State& state = made.states_.emplace_back();
    state.accepts = i >= least;
    if (i < last || most == kUnbounded) state.add(0, kLastCodePoint, std::min(i + 1, last));
  }
  return made;
}

CharacterAutomaton CharacterAutomaton::of_texts(const std::vector<std::string>& texts) {
  std::vector<std::map<char32_t, uint32_t>> letters(1);
  CharacterAutomaton made;
  made.states_.emplace_back();
  for (const std::string& text : texts) {
    uint32_t at = 0;
    for (size_t i = 0; i < text.size();) {
      const auto [edge, added] = letters[at].emplace(next_code_point(text, i), static_cast<uint32_t>(letters.size()));
      at = edge->second;
      if (!added) continue;
      letters.emplace_back();
      made.states_.emplace_back();
    }
    made.states_[at].accepts = true;
  }
  for (size_t i = 0; i < letters.size(); ++i)
    for (const auto& [character, to] : letters[i]) made.states_[i].add(character, character, to);
  made.keep_what_ends();
  return made;
}

std::optional<CharacterAutomaton> CharacterAutomaton::of(const RegularExpression& expression, size_t& work) {
  ExpressionStates states;
  CharacterAutomaton made;
  if (!states.add(expression) || !SubsetStates(states, work).build(made.states_)) return std::nullopt;
  made.keep_what_ends();
  return made;
}

// States are pairs; of the other automaton's there may be none left.
std::optional<CharacterAutomaton> CharacterAutomaton::product(const CharacterAutomaton& other, bool without,
                                                              size_t& work) const {
  using Pair = std::pair<uint32_t, uint32_t>;
  CharacterAutomaton made;
  if (empty()) return made;
  std::map<Pair, uint32_t> numbers;
  std::vector<Pair> pairs;
  const auto number_of = [&](uint32_t own, uint32_t others) {
    const auto [entry, added] = numbers.emplace(Pair(own, others), static_cast<uint32_t>(pairs.size()));
    if (added) pairs.emplace_back(own, others);
    return entry->second;
  };
  number_of(0, other.empty() ? kNowhere : 0);
  static const State kNone;
  for (size_t at = 0; at < pairs.size(); ++at) {
    const State& own = states_[pairs[at].first];
    const State& others = pairs[at].second == kNowhere ? kNone : other.states_[pairs[at].second];
    work += 10 + own.edges.size() + others.edges.size();
    if (pairs.size() > kMostStates || work > kMostWork) return std::nullopt;
    State state{.edges = {}, .accepts = own.accepts && others.accepts != without};
    auto edge = others.edges.begin();
    for (const Edge& mine : own.edges) {
      for (char32_t from = mine.first; from <= mine.last;) {
        while (edge != others.edges.end() && edge->last < from) ++edge;
        const bool both = edge != others.edges.end() && edge->first <= from;
        char32_t to = mine.last;
        if (edge != others.edges.end()) to = std::min<char32_t>(to, both ? edge->last : edge->first - 1);
        if (both || without) state.add(from, to, number_of(mine.target, both ? edge->target : kNowhere));
        from = to + 1;
      }
    }
    made.states_.push_back(std::move(state));
  }
  made.keep_what_ends();
  return made;
}

bool CharacterAutomaton::accepts(std::string_view text) const {
  if (empty()) return false;
  const State* state = states_.data();
  for (size_t at = 0; at < text.size();) {
    const Edge* edge = state->edge_at(next_code_point(text, at));
    if (!edge) return false;
    state = &states_[edge->target];
  }
  return state->accepts;
}

void CharacterAutomaton::keep_what_ends() {
  std::vector<std::vector<uint32_t>> before(states_.size());
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < states_.size(); ++i) {
    for (const Edge& edge : states_[i].edges)
      if (before[edge.target].empty() || before[edge.target].back() != i) before[edge.target].push_back(i);
    if (states_[i].accepts) open.push_back(i);
  }
  std::vector<uint32_t> numbers(states_.size(), kNowhere);
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (numbers[at] != kNowhere) continue;
    numbers[at] = 0;
    open.insert(open.end(), before[at].begin(), before[at].end());
  }
  if (states_.empty() || numbers[0] == kNowhere) return states_.clear();
  uint32_t kept = 0;
  for (uint32_t& number : numbers)
    if (number != kNowhere) number = kept++;
  for (size_t i = 0; i < states_.size(); ++i) {
    if (numbers[i] == kNowhere) continue;
    State state{.edges = {}, .accepts = states_[i].accepts};
    for (const Edge& edge : states_[i].edges)
      if (numbers[edge.target] != kNowhere) state.add(edge.first, edge.last, numbers[edge.target]);
    states_[numbers[i]] = std::move(state);
  }
  states_.resize(kept);
}

}  // namespace ridge::text
