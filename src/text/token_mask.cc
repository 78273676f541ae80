#include "text/token_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

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
    if (goes_on_ && !goes_on_()) return false;
    // Strings that end alike and may go on alike are one.
    std::map<Group, std::vector<JsonBranch>> groups;
    std::vector<JsonBranch> rest;
    for (const JsonBranch& branch : std::vector(states_.branches(state))) {
      const JsonNode& node = states_.machine().node_of(branch);
      const bool is_text = node.kind == JsonNode::kText;
      const bool is_free =
          node.kind == JsonNode::kCharacters && node.b == 0 && program().characters.is_free(branch.state);
      const uint32_t lexer_state = is_text ? branch.state : is_free ? json_lexer().key : JsonLexer::kNoState;
      if (trie_.within_quotes(lexer_state) == nullptr) {
        rest.push_back(branch);
        continue;
      }
      Group group{.lexer_state = lexer_state};
      if (is_text) {
        group.least = node.a - std::min(node.a, branch.count);
        if (node.b != kUnbounded) group.most = node.b - branch.count;
      }
      states_.machine().leave(branch, groups[group]);
    }
    for (auto& [group, after] : groups) add_within_quotes(group, states_.state_of(std::move(after)));
    if (!rest.empty()) add_rest(states_.state_of(std::move(rest)));
    return !stopped_;
  }

 private:
  struct Group {
    uint32_t lexer_state = 0, least = 0, most = kUnbounded;
    auto operator<=>(const Group&) const = default;
  };
  const JsonProgram& program() const { return *states_.program(); }

  void add_within_quotes(const Group& group, uint32_t after) {
    const TokenTrie::WithinQuotes& within = *trie_.within_quotes(group.lexer_state);
    add_unended(within, group.most);
    for (const TokenTrie::WithinQuotes::End& end : within.ends) {
      if (end.characters < group.least || end.characters > group.most) continue;
      trie_.add_tokens(trie_.node(end.node), set_);
      if (after != JsonStates::kNone) walk(end.node, after);
    }
  }

  void add_unended(const TokenTrie::WithinQuotes& within, uint32_t most) {
    const auto longer = within.longer_than(most);
    if (longer.size() > within.by_length.size() / 2) {
      for (const auto& [characters, token] : std::span(within.by_length).subspan(longer.size())) add_token(set_, token);
      return;
    }
    TokenSet fitting;
    const TokenSet* tokens = &within.tokens;
    if (!longer.empty()) {
      fitting = within.tokens;
      for (const auto& [characters, token] : longer) remove_token(fitting, token);
      tokens = &fitting;
    }
    for (size_t i = 0; i < set_.size(); ++i) set_[i] |= (*tokens)[i];
  }

  // Characters of a class lead on and on; where tokens leave it, they are looked at.
  void add_rest(uint32_t state) {
    const CharacterRun run = states_.run_together(state);
    if (!is_worth_it(run)) return walk(TokenTrie::kRoot, state);
    const TokenTrie::OfClass& known = sets_.of_class(run.first_bytes);
    trie_.add_short(known.tokens, std::min<uint32_t>(run.length, 255), set_);
    std::vector<uint32_t> after{state};  // so many characters
    const std::string character = a_character(run.first_bytes);
    for (size_t i = 0, end = 0; i < known.exits.size(); i = end) {
      const uint8_t byte = known.exits[i].byte;
      const uint32_t characters = known.exits[i].characters;
      while (end < known.exits.size() && known.exits[end].byte == byte && known.exits[end].characters == characters)
        ++end;
      if (characters > run.length || stopped_) continue;
      while (run.length < CharacterRun::kForEver && after.size() <= characters) {
        after.push_back(after.back());
        for (const char each : character) after.back() = states_.next(after.back(), static_cast<uint8_t>(each));
      }
      const uint32_t next = states_.next(after[run.length < CharacterRun::kForEver ? characters : 0], byte);
      if (next == JsonStates::kNone) continue;
      for (; i < end; ++i) add_below(known.exits[i].node, next);
    }
  }
  // Of few characters, few tokens are walked; where many leave it, they are walked as quickly.
  static bool is_worth_it(const CharacterRun& run) {
    constexpr size_t kMany = 40, kFewLetters = 48;
    constexpr uint32_t kLongest = 255;
    if (run.length > kLongest && run.length != CharacterRun::kForEver) return false;
    size_t letters = 0;
    for (char letter = 'a'; letter <= 'z'; ++letter)
      letters += (run.first_bytes[letter] ? 1 : 0) + (run.first_bytes[letter - 'a' + 'A'] ? 1 : 0);
    return run.first_bytes.count() >= kMany && letters > kFewLetters &&
           (run.length < CharacterRun::kForEver || run.first_bytes[0xe4]);
  }
  // Any that begins with one of these bytes.
  static std::string a_character(const ByteSet& first_bytes) {
    for (size_t byte = 0; byte < first_bytes.size(); ++byte) {
      if (!first_bytes[byte]) continue;
      std::string character(1, static_cast<char>(byte));
      if (byte >= 0xc0) character += static_cast<char>(byte == 0xe0 ? 0xa0 : byte == 0xf0 ? 0x90 : 0x80);
      if (byte >= 0xe0) character += '\x80';
      if (byte >= 0xf0) character += '\x80';
      return character;
    }
    return {};
  }

  void walk(uint32_t from, uint32_t state) {
    constexpr int kRound = 4096;
    if (stopped_) return;
    if (++walked_ % kRound == 0 && goes_on_ && !goes_on_()) stopped_ = true;
    for (uint32_t at = from + 1, end = trie_.node(from).end; at < end; at = trie_.node(at).end) {
      const TokenTrie::Node& node = trie_.node(at);
      const uint32_t next = states_.next(state, node.byte);
      if (next == JsonStates::kNone) continue;
      add_below(at, next);
    }
    if (states_.work() + walked_ / 8 > last_work_) stopped_ = true;
  }

  // Tokens that end at a node or below it, at which the grammar stands so.
  void add_below(uint32_t number, uint32_t state) {
    trie_.add_tokens(trie_.node(number), set_);
    if (!trie_.has_children(number)) return;
    if (const TokenTrie::Below* below = trie_.below(number)) {
      const CharacterRun& run = states_.run(state);
      if (below->characters <= run.length && (below->first_bytes & ~run.first_bytes).none())
        return trie_.add_all_tokens(*below, set_);
    }
    walk(number, state);
  }

  TokenSets& sets_;
  JsonStates& states_;
  const TokenTrie& trie_;
  TokenSet& set_;
  const std::function<bool()>& goes_on_;
  const uint64_t last_work_;
  uint64_t walked_ = 0;  // nodes with children
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

const TokenTrie::OfClass& TokenSets::of_class(const ByteSet& first_bytes) {
  const auto [known, added] = classes_.try_emplace(first_bytes);
  if (added) {
    known->second = trie_->of_class(first_bytes);
    exits_bytes_ += known->second.exits.size() * sizeof(TokenTrie::OfClass::Exit);
  }
  return known->second;
}

void TokenSets::clear() {
  classes_.clear();
  exits_bytes_ = 0;
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
