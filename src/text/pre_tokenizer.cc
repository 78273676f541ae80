#include "text/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "text/normalizer.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

// GPT-2's, as the library has it.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Unicode's and all of ASCII's, such as $ and +.
constexpr std::string_view kPunctuation = R"([!-/:-@\[-`{-~\p{P}])";
constexpr std::string_view kBlanks = R"(\s+)";
// "\w+|[^\w\s]+" as Rust's regex has it, whose words hold joiners too.
constexpr std::string_view kWordsOrSigns = R"([\w\x{200C}\x{200D}]+|[^\w\x{200C}\x{200D}\s]+)";

struct Cut {
  Match place;
  bool matches = false;
};

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  static const auto table = [] {
    std::array<std::string, 256> characters;
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
      append_utf8(characters[byte], printable ? byte : next++);
    }
    return characters;
  }();
  return table;
}

Result<PreTokenizer> PreTokenizer::read(const JsonPart& part) {
  PreTokenizer result;
  RIDGE_TRY(result.add(part));
  return result;
}

Status PreTokenizer::add(const JsonPart& part) {
  RIDGE_ASSIGN(const std::string_view type, part.text("type"));
  if (type == "Sequence") {
    RIDGE_ASSIGN(const std::vector<JsonPart> members, part.objects("pretokenizers"));
    for (const JsonPart& member : members) RIDGE_TRY(add(member));
  } else if (type == "ByteLevel") {
    RIDGE_ASSIGN(const bool space, part.boolean_or("add_prefix_space", true));
    RIDGE_ASSIGN(const bool cuts, part.boolean_or("use_regex", true));
    if (space) steps_.emplace_back(PrefixSpace{});
    if (cuts) RIDGE_TRY(add_split(kByteLevelPattern, Behaviour::kIsolated));
    steps_.emplace_back(ByteLevel{});
  } else if (type == "Split") {
    return add_split(part, read_pattern(part));
  } else if (type == "Punctuation") {
    return add_split(part, Pattern::regex(kPunctuation));
  } else if (type == "CharDelimiterSplit") {
    RIDGE_ASSIGN(const char32_t delimiter, part.character("delimiter"));
    std::string text;
    append_utf8(text, delimiter);
    RIDGE_ASSIGN(Pattern pattern, Pattern::literal(text));
    steps_.emplace_back(Split{std::move(pattern), Behaviour::kRemoved, false});
  } else if (type == "Digits") {
    RIDGE_ASSIGN(const bool each, part.boolean_or("individual_digits", false));
    return add_split("\\p{N}", each ? Behaviour::kIsolated : Behaviour::kContiguous);
  } else if (type == "WhitespaceSplit") {
    return add_split(kBlanks, Behaviour::kRemoved);
  } else if (type == "Whitespace") {
    return add_split(kWordsOrSigns, Behaviour::kRemoved, true);
  } else if (type == "BertPreTokenizer") {
    RIDGE_TRY(add_split(kBlanks, Behaviour::kRemoved));
    return add_split(kPunctuation, Behaviour::kIsolated);
  } else if (type == "Metaspace") {
    RIDGE_ASSIGN(const char32_t replacement, part.character("replacement"));
    RIDGE_ASSIGN(const std::string_view scheme, part.text_or("prepend_scheme", "always"));
    RIDGE_ASSIGN(const bool prefix, part.boolean_or("add_prefix_space", true));
    RIDGE_ASSIGN(const bool cuts, part.boolean_or("split", true));
    Metaspace step{{}, Prefix::kAlways};
    append_utf8(step.replacement, replacement);
    if (scheme == "first")
      step.prefix = Prefix::kFirst;
    else if (scheme == "never" || !prefix)
      step.prefix = Prefix::kNever;
    else if (scheme != "always")
      return part.wrong("prepend_scheme", "first, never or always");
    std::string mark = step.replacement;
    steps_.emplace_back(std::move(step));
    if (cuts) {
      RIDGE_ASSIGN(Pattern pattern, Pattern::literal(mark));
      steps_.emplace_back(Split{std::move(pattern), Behaviour::kMergedWithNext, false});
    }
  } else {
    return part.unknown(type,
                        "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, "
                        "Split, Whitespace, WhitespaceSplit");
  }
  return ok_status();
}

// As its member "behavior" says, if it has one.
Status PreTokenizer::add_split(const JsonPart& part, Result<Pattern> pattern) {
  if (!pattern) return std::move(pattern).error();
  RIDGE_ASSIGN(const std::string_view name, part.text_or("behavior", "Isolated"));
  constexpr std::array<std::pair<std::string_view, Behaviour>, 5> kBehaviours{
      {{"Removed", Behaviour::kRemoved},
       {"Isolated", Behaviour::kIsolated},
       {"MergedWithPrevious", Behaviour::kMergedWithPrevious},
       {"MergedWithNext", Behaviour::kMergedWithNext},
       {"Contiguous", Behaviour::kContiguous}}};
  const auto* known =
      std::find_if(kBehaviours.begin(), kBehaviours.end(), [&](const auto& row) { return row.first == name; });
  if (known == kBehaviours.end())
    return part.wrong("behavior", "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
  RIDGE_ASSIGN(const bool invert, part.boolean_or("invert", false));
  steps_.emplace_back(Split{std::move(*pattern), known->second, invert});
  return ok_status();
}

Status PreTokenizer::add_split(std::string_view expression, Behaviour behaviour, bool invert) {
  RIDGE_ASSIGN(Pattern pattern, Pattern::regex(expression));
  steps_.emplace_back(Split{std::move(pattern), behaviour, invert});
  return ok_status();
}

// Appends the words that `word` is cut into.
Status PreTokenizer::cut(const std::string& word, const Split& split, std::vector<std::string>& words) {
  RIDGE_ASSIGN(const std::vector<Match> matches, split.pattern.find_all(word));
  std::vector<Cut> cuts;
  size_t from = 0;
  for (const Match& match : matches) {
    if (from != match.begin) cuts.push_back({{from, match.begin}, split.invert});
    cuts.push_back({match, !split.invert});
    from = match.end;
  }
  if (from != word.size()) cuts.push_back({{from, word.size()}, split.invert});

  std::vector<Match> places;
  bool previous = false;
  if (split.behaviour == Behaviour::kMergedWithNext) std::reverse(cuts.begin(), cuts.end());
  for (const Cut& part : cuts) {
    switch (split.behaviour) {
      case Behaviour::kRemoved:
        if (!part.matches) places.push_back(part.place);
        break;
      case Behaviour::kIsolated: places.push_back(part.place); break;
      case Behaviour::kContiguous:
        if (part.matches == previous && !places.empty())
          places.back().end = part.place.end;
        else
          places.push_back(part.place);
        break;
      case Behaviour::kMergedWithPrevious:
        if (part.matches && !previous && !places.empty())
          places.back().end = part.place.end;
        else
          places.push_back(part.place);
        break;
      case Behaviour::kMergedWithNext:
        if (part.matches && !previous && !places.empty())
          places.back().begin = part.place.begin;
        else
          places.push_back(part.place);
        break;
    }
    previous = part.matches;
  }
  if (split.behaviour == Behaviour::kMergedWithNext) std::reverse(places.begin(), places.end());
  for (const Match& place : places)
    if (place.begin != place.end) words.push_back(word.substr(place.begin, place.end - place.begin));
  return ok_status();
}

Result<std::vector<std::string>> PreTokenizer::split(std::string text, bool first) const {
  std::vector<std::string> words;
  if (!text.empty()) words.push_back(std::move(text));
  for (const Step& step : steps_) {
    if (const auto* split = std::get_if<Split>(&step)) {
      std::vector<std::string> shorter;
      for (const std::string& word : words) RIDGE_TRY(cut(word, *split, shorter));
      words = std::move(shorter);
    } else if (std::holds_alternative<PrefixSpace>(step)) {
      for (std::string& word : words)
        if (word.front() != ' ') word.insert(0, 1, ' ');
    } else if (std::holds_alternative<ByteLevel>(step)) {
      for (std::string& word : words) {
        std::string characters;
        characters.reserve(word.size() * 2);
        for (const char byte : word) characters += byte_characters()[static_cast<unsigned char>(byte)];
        word = std::move(characters);
      }
    } else {
      const auto& metaspace = std::get<Metaspace>(step);
      for (std::string& word : words) {
        std::string marked;
        marked.reserve(word.size() + word.size() / 2 + 3);
        for (const char byte : word)
          if (byte == ' ')
            marked += metaspace.replacement;
          else
            marked += byte;
        const bool wanted = metaspace.prefix == Prefix::kAlways ||
                            (metaspace.prefix == Prefix::kFirst && first && &word == words.data());
        if (wanted && !marked.starts_with(metaspace.replacement)) marked.insert(0, metaspace.replacement);
        word = std::move(marked);
      }
    }
  }
  return words;
}

}  // namespace ridge::text
