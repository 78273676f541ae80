#include "text/token_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace ridge::text {
namespace {

// One set: the tree of tokens and the states of the grammar, walked together.
class TokenWalk {
 public:
  TokenWalk(TokenSets& sets, TokenSet& set, const std::function<bool()>& goes_on)
      : sets_(sets),
        states_(*sets.states()),
        trie_(*sets.trie()),
        set_(set),
        goes_on_(goes_on),
        last_work_(states_.work() + TokenSets::kMostWork) {}

  // False: it was too much, or was stopped.
  bool add_all(uint32_t state) {
    constexpr size_t kMostGroups = 5;
    if (goes_on_ && !goes_on_()) return false;
    const bool is_one = is_worth_it(states_.run_together(state));
    // If not, branches whose characters go on alike are walked together; the first group is of those that have none.
    std::vector<std::pair<CharacterRun, std::vector<JsonBranch>>> groups(1);
    for (const JsonBranch& branch : states_.branches(state)) {
      const CharacterRun run = states_.machine().run(branch, true);
      auto alike = std::ranges::find_if(groups, [&](const auto& group) { return group.first.is_like(run); });
      if (alike == groups.end()) alike = groups.begin();
      if (alike == groups.begin() && !is_one && is_worth_it(run) && groups.size() < kMostGroups)
        alike = groups.insert(groups.end(), {run, {}});
      alike->second.push_back(branch);
    }
    for (auto& [run, branches] : groups)
      if (!branches.empty()) add_below(TokenTrie::kRoot, states_.state_of(std::move(branches)));
    return !stopped_;
  }

 private:
  static constexpr uint64_t kRound = 4096;

  // Tokens of few kinds of characters are walked as quickly; those of a longer run may or may not be allowed.
  static bool is_worth_it(const CharacterRun& run) {
    constexpr size_t kMany = 20;
    return run.length > 0 && run.kinds.count() >= kMany && (run.ends || run.length == CharacterRun::kLongest);
  }

  // At the root, or where the first character is begun: the characters of a run lead on and on, and only tokens that
  // have others are looked at. False: all have to be.
  bool add_run(uint32_t number, const TokenTrie::Below& below, uint32_t state) {
    constexpr uint32_t kFew = 256, kFewExits = 16;  // one for this many tokens
    if (below.depth > 1 || below.end_token - below.first_token < kFew) return false;
    const CharacterRun& run = states_.run_together(state);
    if (!is_worth_it(run) || run.after_begun != below.after_begun) return false;
    ByteSet others = run.others & ~run.kinds;
    others.set(kLate);
    others &= below.kinds;
    std::vector<TokenTrie::Exit> exits;
    for (size_t kind = 0; kind < others.size(); ++kind) {
      if (!others[kind]) continue;
      const auto known = trie_.exits(static_cast<uint8_t>(kind), number);
      if ((exits.size() + known.size()) * kFewExits > below.end_token - below.first_token) return false;
      exits.insert(exits.end(), known.begin(), known.end());
    }
    if (!goes_on(kRound)) return true;
    const TokenTrie::OfClass& known = sets_.of_class(run.kinds, run.length);
    trie_.add_tokens_of(below.depth == 0 ? known.whole : known.rest, below, set_);
    for (const TokenTrie::Exit& exit : exits) {
      if (!goes_on()) break;
      const std::string& bytes = trie_.bytes_of(exit.token);
      uint32_t at = state;
      for (size_t i = below.depth; i < exit.bytes && at != JsonStates::kNone; ++i) {
        const auto byte = static_cast<uint8_t>(bytes[i]);
        const bool begins = (byte & 0xc0) != 0x80;
        at = begins && !run.kinds[byte] ? JsonStates::kNone : states_.next(at, byte);  // below another one
      }
      if (at != JsonStates::kNone) at = states_.next(at, trie_.node(exit.node).byte);
      if (at != JsonStates::kNone) add_below(exit.node, at);
    }
    return true;
  }

  void walk(uint32_t from, uint32_t state) {
    if (!goes_on()) return;
    for (uint32_t at = from + 1, end = trie_.node(from).end; at < end; at = trie_.node(at).end) {
      const TokenTrie::Node& node = trie_.node(at);
      const uint32_t next = states_.next(state, node.byte);
      if (next == JsonStates::kNone) continue;
      add_below(at, next);
    }
  }

  bool goes_on(uint64_t work = 1) {
    const uint64_t rounds = walked_ / kRound;
    walked_ += work;
    if (walked_ / kRound != rounds && goes_on_ && !goes_on_()) stopped_ = true;
    if (states_.work() + walked_ / 8 > last_work_) stopped_ = true;
    return !stopped_;
  }

  // Tokens that end at a node or below it, at which the grammar stands so.
  void add_below(uint32_t number, uint32_t state) {
    trie_.add_tokens(trie_.node(number), set_);
    if (!trie_.has_children(number)) return;
    if (const TokenTrie::Below* below = trie_.below(number)) {
      const CharacterRun& run = states_.run(state);
      if (below->characters <= run.length && run.after_begun == below->after_begun &&
          (below->kinds & ~run.kinds).none())
        return trie_.add_all_tokens(*below, set_);
      if (add_run(number, *below, state)) return;
    }
    walk(number, state);
  }

  TokenSets& sets_;
  JsonStates& states_;
  const TokenTrie& trie_;
  TokenSet& set_;
  const std::function<bool()>& goes_on_;
  const uint64_t last_work_;
  uint64_t walked_ = 0;  // nodes with children, and exits; a class counts as a round of them
  bool stopped_ = false;
};

}  // namespace

TokenSets::TokenSets(const JsonGrammar& grammar, std::shared_ptr<const TokenTrie> trie)
    : trie_(std::move(trie)), states_(std::make_shared<JsonStates>(grammar.program())) {}

Result<std::shared_ptr<const TokenSet>> TokenSets::at(JsonState& place, const std::function<bool()>& goes_on) {
  if (bytes() > kMostBytes) clear();
  if (place.states() != states_) place.move_to(states_);
  const auto known = sets_.find(place.number());
  if (known != sets_.end()) return known->second;
  TokenSet set(trie_->words());
  if (!TokenWalk(*this, set, goes_on).add_all(place.number())) {
    const JsonBranch& branch = states_->branches(place.number()).back();  // of the latest rule
    return Error{Code::kExhausted,
                 fmt::format("JSON schema, {}: which tokens may come next took too long to find; make its patterns "
                             "shorter, or its alternatives fewer",
                             states_->program()->place_of(branch.node))};
  }
  return sets_.emplace(place.number(), std::make_shared<const TokenSet>(std::move(set))).first->second;
}

const TokenTrie::OfClass& TokenSets::of_class(const ByteSet& kinds, uint32_t most) {
  auto& of_kinds = classes_[kinds];
  if (const auto known = of_kinds.find(most); known != of_kinds.end()) return known->second;
  TokenTrie::OfClass made = most < CharacterRun::kLongest
                                ? trie_->shorter(of_class(kinds, CharacterRun::kLongest), most)
                                : trie_->of_class(kinds);
  const TokenTrie::OfClass& kept = of_kinds.emplace(most, std::move(made)).first->second;
  ++class_count_;
  return kept;
}

void TokenSets::clear() {
  classes_.clear();
  class_count_ = 0;
  states_ = std::make_shared<JsonStates>(states_->program());
  sets_.clear();
}

TokenMask::TokenMask(std::shared_ptr<TokenSets> sets, std::vector<int32_t> ends)
    : sets_(std::move(sets)), trie_(sets_->trie()), place_(sets_->states()), may_end_(place_.may_end()) {
  std::erase_if(ends, [&](int32_t token) { return token < 0 || token >= trie_->vocabulary(); });
  ends_ = std::make_shared<const std::vector<int32_t>>(std::move(ends));
}

Status TokenMask::find(const std::function<bool()>& goes_on) {
  found_ = std::make_shared<const TokenSet>();
  if (ended_) return {};
  RIDGE_ASSIGN(found_, sets_->at(place_, goes_on));
  return {};
}

TokenSet TokenMask::allowed() const {
  TokenSet set = *found_;
  set.resize(trie_->words());
  for (const int32_t token : *ends_) {
    remove_token(set, token);
    if (may_end_) add_token(set, token);
  }
  return set;
}

bool TokenMask::mask(std::span<float> logits) const {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const TokenSet set = allowed();
  for (size_t begin = 0; begin < logits.size(); begin += 64) {
    const uint64_t word = begin / 64 < set.size() ? set[begin / 64] : 0;
    const size_t count = std::min<size_t>(64, logits.size() - begin);
    if (word == 0) {  // as most are where the document's structure comes next
      std::fill_n(logits.begin() + static_cast<std::ptrdiff_t>(begin), count, kNever);
      continue;
    }
    for (uint64_t barred = ~word; barred != 0; barred &= barred - 1) {
      const auto bit = static_cast<size_t>(std::countr_zero(barred));
      if (bit >= count) break;
      logits[begin + bit] = kNever;
    }
  }
  return std::any_of(set.begin(), set.end(), [](uint64_t word) { return word != 0; });
}

bool TokenMask::accept(int32_t token) {
  if (std::find(ends_->begin(), ends_->end(), token) != ends_->end()) {
    if (!may_end_) return false;
    ended_ = true;
    return true;
  }
  if (ended_ || token < 0 || token >= trie_->vocabulary()) return false;
  const std::string& bytes = trie_->bytes_of(token);
  if (bytes.empty() || bytes.size() > TokenTrie::kLongestToken || !place_.accept(bytes)) return false;
  may_end_ = place_.may_end();
  return true;
}

}  // namespace ridge::text
