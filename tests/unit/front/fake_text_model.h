// FakeTextModel: a language model for tests. A token is a byte, and 256 the begin of a text; it answers `answers` in
// turn, choice after choice, a byte a piece; without any, what it was asked. Its step thread is the test's: step()
// gives every request under way one piece.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "serve/text_model.h"

namespace ridge::front {

// The tokenizer.json of bytes: token i is byte i, 256 is <s>, which stands before a text.
inline std::string byte_tokenizer_json() {
  Json vocabulary = Json::object();
  int beyond = 0;
  for (int byte = 0; byte < 256; ++byte) {
    // GPT-2's letters for bytes: those that show are themselves, the others lie behind U+0100.
    const bool shows = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const int letter = shows ? byte : 256 + beyond++;
    std::string text;
    if (letter < 0x80) {
      text += static_cast<char>(letter);
    } else {
      text += static_cast<char>(0xC0 | letter >> 6);
      text += static_cast<char>(0x80 | (letter & 0x3F));
    }
    vocabulary[text] = byte;
  }
  const Json begin = {{"id", 256},       {"content", "<s>"},    {"single_word", false}, {"lstrip", false},
                      {"rstrip", false}, {"normalized", false}, {"special", true}};
  const Json letters = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  const Json first = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const Json text_a = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}},
             text_b = {{"Sequence", {{"id", "B"}, {"type_id", 1}}}};
  return dump_json({{"version", "1.0"},
                    {"truncation", nullptr},
                    {"padding", nullptr},
                    {"added_tokens", Json::array({begin})},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", letters},
                    {"post_processor",
                     {{"type", "TemplateProcessing"},
                      {"single", Json::array({first, text_a})},
                      {"pair", Json::array({first, text_a, text_b})},
                      {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {256}}, {"tokens", {"<s>"}}}}}}}},
                    {"decoder", letters},
                    {"model",
                     {{"type", "BPE"},
                      {"dropout", nullptr},
                      {"unk_token", nullptr},
                      {"continuing_subword_prefix", nullptr},
                      {"end_of_word_suffix", nullptr},
                      {"fuse_unk", false},
                      {"byte_fallback", false},
                      {"vocab", std::move(vocabulary)},
                      {"merges", Json::array()}}}});
}

class FakeTextModel final : public serve::TextModel {
 public:
  explicit FakeTextModel(std::string name) : name_(std::move(name)) {}

  const std::string& name() const override { return name_; }
  int64_t context() const override { return 128; }
  int64_t created() const override { return 1700000000; }
  const text::Tokenizer& tokenizer() const override { return tokenizer_; }
  const generate::Sampling& usual_sampling() const override { return usual_sampling_; }
  bool chats() const override { return true; }
  bool random_weights() const override { return name_ == "random"; }
  const text::AnswerForm& answer_form() const override { return form; }
  // "role: content|" of each message, the tools' names, and "assistant:" where an answer is to follow, with what
  // `thought` has behind it.
  Result<std::string> prompt_of(Json variables) const override {
    std::string text;
    if (variables.contains("reasoning_effort")) text += variables["reasoning_effort"].get<std::string>() + ";";
    if (variables.contains("documents")) text += std::to_string(variables["documents"].size()) + " documents;";
    if (variables.contains("tools"))
      for (const Json& tool : variables["tools"]) text += tool["function"]["name"].get<std::string>() + ";";
    for (const Json& message : variables["messages"]) {
      if (message["role"] == "unknown") return invalid("the template knows no role 'unknown'");
      const Json& content = message["content"];
      text += message["role"].get<std::string>() + ": " +
              (content.is_string() ? content.get<std::string>() : content.dump()) + "|";
    }
    if (variables["add_generation_prompt"].get<bool>()) text += "assistant:" + thought;
    return text;
  }

  Result<std::unique_ptr<serve::TextTicket>> generate(serve::TextRequest request,
                                                      std::shared_ptr<serve::TextSink> sink) override {
    if (request.prompt.empty()) return invalid("the prompt has no token");
    if (static_cast<int64_t>(request.prompt.size()) > context())
      return invalid("the prompt has " + std::to_string(request.prompt.size()) +
                     " tokens, more than the context of 128");
    if (request.first_token_within && *request.first_token_within < std::chrono::seconds(1))
      return Error{Code::kUnavailable, "the first token would come after 2.5 s", std::chrono::milliseconds(2500)};
    MutexLock lock(mutex_);
    auto run = std::make_shared<Run>();
    run->prompt_tokens = static_cast<int64_t>(request.prompt.size());
    run->at.resize(static_cast<size_t>(request.choices));
    for (int i = 0; i < request.choices; ++i) {
      std::string answer =
          answers.empty() ? tokenizer_.decode(request.prompt, false) : answers[next_++ % answers.size()];
      const auto most = static_cast<size_t>(request.most_tokens.value_or(context() - run->prompt_tokens));
      run->finishes.push_back(answer.size() > most ? generate::Finish::kLength : generate::Finish::kStop);
      run->answers.push_back(answer.substr(0, most));
    }
    run->sink = std::move(sink);
    last = request;
    if (request.prompt_logprobs)
      for (const int32_t token : request.prompt) run->prompt.push_back(chance(token));
    run->logprobs = request.logprobs >= 0;
    runs_.push_back(run);
    return std::unique_ptr<serve::TextTicket>(new Ticket(std::move(run), *this));
  }
  serve::TextFigures figures() const override { return figures_; }

  // Sends one piece of each choice of every request, or its end. False: no request is left.
  bool step() {
    std::vector<std::shared_ptr<Run>> runs;
    {
      MutexLock lock(mutex_);
      runs = runs_;
    }
    for (const std::shared_ptr<Run>& run : runs) advance(*run);
    runs.clear();
    MutexLock lock(mutex_);
    std::erase_if(runs_, [](const auto& run) { return run->ended; });
    return !runs_.empty();
  }
  void run_all() {
    while (step()) {
    }
  }
  // All that run end so, without another piece.
  void fail(const Error& error) {
    std::vector<std::shared_ptr<Run>> runs;
    {
      MutexLock lock(mutex_);
      runs.swap(runs_);
    }
    for (const std::shared_ptr<Run>& run : runs) std::exchange(run->sink, nullptr)->end(error, {});
  }
  size_t running() const {
    MutexLock lock(mutex_);
    return runs_.size();
  }
  size_t cancelled() const {
    MutexLock lock(mutex_);
    return cancelled_;
  }

  std::vector<std::string> answers;
  serve::TextRequest last;
  text::AnswerForm form = text::answer_form_of("");
  std::string thought;
  serve::TextFigures figures_;

 private:
  struct Run {
    std::shared_ptr<serve::TextSink> sink;
    std::vector<std::string> answers;
    std::vector<generate::Finish> finishes;
    std::vector<size_t> at;
    std::vector<serve::TextToken> prompt;
    int64_t prompt_tokens = 0, made = 0;
    bool logprobs = false, begun = false, ended = false;
    std::atomic<bool> cancelled = false;
  };
  struct Ticket final : serve::TextTicket {
    Ticket(std::shared_ptr<Run> of, FakeTextModel& in) : run(std::move(of)), model(in) {}
    ~Ticket() override { cancel(); }
    void cancel() override { model.cancel(*run); }
    const std::shared_ptr<Run> run;
    FakeTextModel& model;
  };

  void cancel(Run& run) {
    MutexLock lock(mutex_);
    const bool runs = std::any_of(runs_.begin(), runs_.end(), [&](const auto& each) { return each.get() == &run; });
    if (runs && !run.cancelled.exchange(true)) ++cancelled_;
  }
  serve::TextToken chance(int32_t token) const {
    serve::TextToken found{token, tokenizer_.decode({&token, 1}, true), -0.5F, {}};
    found.alternatives = {{token, found.text, -0.5F, {}}, {'?', "?", -1.5F, {}}};
    return found;
  }
  void advance(Run& run) {
    serve::TextUsage usage{.prompt_tokens = run.prompt_tokens, .completion_tokens = run.made};
    if (run.cancelled) return end(run, Error{Code::kCancelled, "cancelled"}, usage);
    if (!std::exchange(run.begun, true)) run.sink->begin(usage, run.prompt);
    bool all = true;
    for (size_t i = 0; i < run.answers.size(); ++i) {
      if (run.at[i] > run.answers[i].size()) continue;
      serve::TextPiece piece;
      piece.choice = static_cast<int>(i);
      if (run.at[i] < run.answers[i].size()) {
        const int32_t token = static_cast<unsigned char>(run.answers[i][run.at[i]]);
        piece.text = run.answers[i].substr(run.at[i], 1);
        piece.token_ids = {token};
        if (run.logprobs) piece.tokens = {chance(token)};
        usage.completion_tokens = ++run.made;
        all = false;
      } else {
        piece.finish = run.finishes[i];
      }
      ++run.at[i];
      run.sink->piece(std::move(piece), usage);
    }
    if (all) end(run, {}, usage);
  }
  static void end(Run& run, Status status, const serve::TextUsage& usage) {
    run.ended = true;
    std::exchange(run.sink, nullptr)->end(std::move(status), usage);
  }

  const std::string name_;
  const generate::Sampling usual_sampling_;
  const text::Tokenizer tokenizer_ = *text::Tokenizer::parse(byte_tokenizer_json());
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Run>> runs_ RIDGE_GUARDED_BY(mutex_);
  size_t next_ RIDGE_GUARDED_BY(mutex_) = 0;  // of answers
  size_t cancelled_ RIDGE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ridge::front
