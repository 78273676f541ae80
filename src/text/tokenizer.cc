#include "text/tokenizer.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/json_part.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/token_decoder.h"
#include "text/unicode.h"
#include "text/vocabulary.h"
#include "text/word_piece.h"

namespace ridge::text {

struct Tokenizer::Parts {
  Vocabulary vocabulary;
  std::unique_ptr<WordModel> model;
  AddedTokens added;
  std::optional<Normalizer> normalizer;
  std::optional<PreTokenizer> pre_tokenizer;
  TokenDecoder decoder;
  std::vector<int32_t> before, after;  // what the post-processor adds

  std::optional<std::string_view> piece_of(int32_t token) const {
    const auto added_piece = added.piece_of(token);
    return added_piece ? added_piece : vocabulary.piece_of(token);
  }
  // Texts of tokens that decoding sees.
  std::optional<std::string_view> shown_piece(int32_t token, bool with_special) const {
    const auto piece = piece_of(token);
    return piece && (with_special || !added.is_special(*piece)) ? piece : std::nullopt;
  }
};

namespace {

// The numbers of a special token of a template.
Result<std::vector<int32_t>> template_tokens(const JsonPart& processor, std::string_view name) {
  RIDGE_ASSIGN(const JsonPart specials, processor.object("special_tokens"));
  RIDGE_ASSIGN(const JsonPart special, specials.object(name));
  RIDGE_ASSIGN(const simdjson::dom::array ids, special.array("ids"));
  std::vector<int32_t> tokens;
  for (const simdjson::dom::element id : ids) {
    int64_t token = 0;
    if (id.get(token) || token < 0 || token > INT32_MAX) return special.wrong("ids", "numbers of tokens");
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

// ["[SEP]", 102].
Result<int32_t> affix_token(const JsonPart& processor, std::string_view key) {
  RIDGE_ASSIGN(const simdjson::dom::array pair, processor.array(key));
  int64_t token = 0;
  if (pair.size() != 2 || pair.at(1).get(token) || token < 0 || token > INT32_MAX)
    return processor.wrong(key, "a token's text and its number");
  return static_cast<int32_t>(token);
}

Result<std::unique_ptr<WordModel>> read_model(const JsonPart& part, Vocabulary& vocabulary) {
  RIDGE_ASSIGN(const std::string_view type, part.text_or("type", "BPE"));
  std::unique_ptr<WordModel> model;
  if (type == "BPE") model = std::make_unique<Bpe>(vocabulary);
  if (type == "WordPiece") model = std::make_unique<WordPiece>(vocabulary);
  if (model == nullptr) return part.unknown(type, "BPE, WordPiece");
  RIDGE_TRY(vocabulary.read(part));
  RIDGE_TRY(model->read(part));
  return model;
}

// Post-processors add tokens around what the ones before gave; all else that they do concerns places in the text, which
// are not kept.
Status read_post_processor(const JsonPart& part, std::vector<int32_t>& before, std::vector<int32_t>& after) {
  RIDGE_ASSIGN(const std::string_view type, part.text("type"));
  if (type == "ByteLevel") return ok_status();
  if (type == "Sequence") {
    RIDGE_ASSIGN(const std::vector<JsonPart> members, part.objects("processors"));
    for (const JsonPart& member : members) RIDGE_TRY(read_post_processor(member, before, after));
    return ok_status();
  }
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    RIDGE_ASSIGN(const int32_t first, affix_token(part, "cls"));
    RIDGE_ASSIGN(const int32_t last, affix_token(part, "sep"));
    before.insert(before.begin(), first);
    after.push_back(last);
    return ok_status();
  }
  if (type != "TemplateProcessing")
    return part.unknown(type, "BertProcessing, ByteLevel, RobertaProcessing, Sequence, TemplateProcessing");
  RIDGE_ASSIGN(const std::vector<JsonPart> pieces, part.objects("single"));
  std::vector<int32_t> outer_before, outer_after;
  bool seen = false;
  for (const JsonPart& piece : pieces) {
    if (piece.has("Sequence")) {
      RIDGE_ASSIGN(const JsonPart sequence, piece.object("Sequence"));
      RIDGE_ASSIGN(const std::string_view id, sequence.text("id"));
      if (seen || id != "A") return part.wrong("single", "a template that has the sequence A once");
      seen = true;
    } else {
      RIDGE_ASSIGN(const JsonPart special, piece.object("SpecialToken"));
      RIDGE_ASSIGN(const std::string_view id, special.text("id"));
      RIDGE_ASSIGN(const std::vector<int32_t> tokens, template_tokens(part, id));
      auto& side = seen ? outer_after : outer_before;
      side.insert(side.end(), tokens.begin(), tokens.end());
    }
  }
  if (!seen) return part.wrong("single", "a template that has the sequence A once");
  before.insert(before.begin(), outer_before.begin(), outer_before.end());
  after.insert(after.end(), outer_after.begin(), outer_after.end());
  return ok_status();
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

Result<Tokenizer> Tokenizer::parse(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (const auto error = parser.parse(json.data(), json.size()).get(document))
    return invalid(std::string("tokenizer.json: not valid JSON: ") + simdjson::error_message(error));
  RIDGE_ASSIGN(const JsonPart root, JsonPart::from(document, "tokenizer.json"));
  auto parts = std::make_unique<Parts>();
  RIDGE_ASSIGN(const JsonPart model, root.object("model"));
  RIDGE_ASSIGN(parts->model, read_model(model, parts->vocabulary));
  if (root.has("normalizer")) {
    RIDGE_ASSIGN(const JsonPart part, root.object("normalizer"));
    RIDGE_ASSIGN(parts->normalizer, Normalizer::read(part));
  }
  if (root.has("pre_tokenizer")) {
    RIDGE_ASSIGN(const JsonPart part, root.object("pre_tokenizer"));
    RIDGE_ASSIGN(parts->pre_tokenizer, PreTokenizer::read(part));
  }
  if (root.has("decoder")) {
    RIDGE_ASSIGN(const JsonPart part, root.object("decoder"));
    RIDGE_ASSIGN(parts->decoder, TokenDecoder::read(part));
  }
  if (root.has("post_processor")) {
    RIDGE_ASSIGN(const JsonPart part, root.object("post_processor"));
    RIDGE_TRY(read_post_processor(part, parts->before, parts->after));
  }
  RIDGE_ASSIGN(parts->added,
               AddedTokens::read(root, parts->vocabulary, parts->normalizer ? &*parts->normalizer : nullptr));
  return Tokenizer(std::move(parts));
}

Result<std::vector<int32_t>> Tokenizer::encode(std::string_view text, bool with_special, size_t most) const {
  if (!is_utf8(text)) return invalid("the text is not valid UTF-8");
  const Parts& parts = *parts_;
  std::vector<int32_t> tokens;
  if (with_special) tokens = parts.before;
  for (const Stretch& raw : parts.added.find(text, false, most)) {
    if (tokens.size() > most) break;
    if (raw.token >= 0) {
      tokens.push_back(raw.token);
      continue;
    }
    std::string changed;
    if (parts.normalizer) {
      RIDGE_ASSIGN(changed, parts.normalizer->normalize(std::string(raw.text)));
    }
    const std::string_view normal = parts.normalizer ? std::string_view(changed) : raw.text;
    for (const Stretch& stretch : parts.added.find(normal, true, most)) {
      if (tokens.size() > most) break;
      if (stretch.token >= 0) {
        tokens.push_back(stretch.token);
        continue;
      }
      if (!parts.pre_tokenizer) {
        parts.model->encode(stretch.text, tokens, most);
        continue;
      }
      const bool first = raw.text.data() == text.data() && stretch.text.data() == normal.data();
      RIDGE_TRY(parts.pre_tokenizer->split(stretch.text, first, [&](std::string_view word) {
        parts.model->encode(word, tokens, most);
        return tokens.size() <= most;
      }));
    }
  }
  if (with_special) tokens.insert(tokens.end(), parts.after.begin(), parts.after.end());
  return tokens;
}

std::string Tokenizer::decode(std::span<const int32_t> tokens, bool with_special) const {
  DecoderChain chain(parts_->decoder);
  std::string text;
  for (const int32_t token : tokens)
    if (const auto piece = parts_->shown_piece(token, with_special)) text += chain.add(*piece);
  return text + chain.end();
}

int64_t Tokenizer::vocabulary() const {
  return int64_t{std::max(parts_->vocabulary.largest(), parts_->added.largest())} + 1;
}

size_t Tokenizer::longest() const { return std::max(parts_->vocabulary.longest(), parts_->added.longest()); }

std::optional<int32_t> Tokenizer::token_of(std::string_view text) const {
  const auto added = parts_->added.token_of(text);
  return added ? added : parts_->vocabulary.token_of(text);
}

std::string_view Tokenizer::piece_of(int32_t token) const {
  return parts_->piece_of(token).value_or(std::string_view());
}

std::string Tokenizer::bytes_of(int32_t token) const { return parts_->decoder.bytes_of(piece_of(token)); }

bool Tokenizer::is_special(int32_t token) const { return parts_->added.is_special(piece_of(token)); }

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool with_special, std::span<const std::string_view> marks)
    : parts_(*tokenizer.parts_),
      with_special_(with_special),
      marks_(marks),
      chain_(std::make_unique<DecoderChain>(parts_.decoder)) {}
Detokenizer::~Detokenizer() = default;
Detokenizer::Detokenizer(Detokenizer&&) noexcept = default;

std::string Detokenizer::add(int32_t token) {
  auto piece = parts_.shown_piece(token, with_special_);
  if (!piece && !marks_.empty()) piece = parts_.piece_of(token);
  if (piece && !with_special_ && parts_.added.is_special(*piece) && std::ranges::find(marks_, *piece) == marks_.end())
    return {};
  return piece ? chain_->add(*piece) : std::string();
}

std::string Detokenizer::end() { return chain_->end(); }

}  // namespace ridge::text
