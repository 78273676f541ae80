// For tests of this folder: a repository of language models that the fake engine runs, what they answer, and a sink
// that keeps an answer.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/fake/fake_decoder.h"
#include "serve/server.h"
#include "serve/test_session.h"
#include "serve/text_model.h"

namespace ridge::serve {

constexpr int32_t kTestEnd = 95;  // the token that ends an answer; those below it are the printable characters of ASCII
constexpr int64_t kTestVocabulary = 96;

inline std::string test_tokenizer() {
  Json vocabulary = Json::object();
  for (int32_t token = 0; token < kTestEnd; ++token)
    vocabulary[token == 0 ? "Ġ" : std::string(1, static_cast<char>(' ' + token))] = token;
  vocabulary["</s>"] = kTestEnd;
  const Json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return dump_json({{"version", "1.0"},
                    {"added_tokens", Json::array({{{"id", kTestEnd},
                                                   {"content", "</s>"},
                                                   {"single_word", false},
                                                   {"lstrip", false},
                                                   {"rstrip", false},
                                                   {"normalized", false},
                                                   {"special", true}}})},
                    {"normalizer", nullptr},
                    {"pre_tokenizer", bytes},
                    {"post_processor", nullptr},
                    {"decoder", bytes},
                    {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", Json::array()}}}});
}

inline std::vector<int32_t> test_tokens(const std::string& text) {
  std::vector<int32_t> tokens;
  for (const char c : text) tokens.push_back(c - ' ');
  return tokens;
}

// The fake decoder's answer at temperature 0: at most `most` tokens, up to one that ends it.
inline std::string expected_text(const std::string& prompt, int64_t most, int64_t vocabulary = kTestVocabulary) {
  std::vector<int32_t> tokens = test_tokens(prompt);
  std::string text;
  for (int64_t i = 0; i < most; ++i) {
    tokens.push_back(engine::fake::expected_next(tokens, vocabulary));
    if (tokens.back() == kTestEnd) break;
    text += static_cast<char>(' ' + tokens.back());
  }
  return text;
}

// A prompt whose answer does not end by itself within `tokens` tokens.
inline std::string endless_prompt(const std::string& begin, int64_t tokens) {
  for (int i = 0;; ++i) {
    std::string prompt = begin + std::to_string(i);
    if (expected_text(prompt, tokens).size() == static_cast<size_t>(tokens)) return prompt;
  }
}

inline TextRequest text_request(const std::string& prompt, int64_t most) {
  TextRequest request;
  request.prompt = test_tokens(prompt);
  request.most_tokens = most;
  request.sampling.temperature = 0;
  return request;
}

class TestSink final : public TextSink {
 public:
  void begin(const TextUsage& usage, std::vector<TextToken> prompt) override {
    MutexLock lock(mutex_);
    EXPECT_EQ(begins_++, 0);
    first_usage_ = usage;
    prompt_ = std::move(prompt);
  }
  void piece(TextPiece piece, const TextUsage&) override {
    MutexLock lock(mutex_);
    EXPECT_EQ(begins_, 1);
    EXPECT_FALSE(status_);
    const auto choice = static_cast<size_t>(piece.choice);
    if (texts_.size() <= choice) texts_.resize(choice + 1);
    if (last_.size() <= choice) last_.resize(choice + 1);
    EXPECT_EQ(last_[choice].finish, generate::Finish::kNone) << "nothing comes after the end";
    texts_[choice] += piece.text;
    for (TextToken& token : piece.tokens) tokens_.push_back(std::move(token));
    ++pieces_;
    last_[choice] = std::move(piece);
    changed_.notify_all();
  }
  void end(Status status, const TextUsage& usage) override {
    MutexLock lock(mutex_);
    EXPECT_FALSE(status_) << "end() comes once";
    status_ = std::move(status);
    usage_ = usage;
    changed_.notify_all();
  }

  Status wait() {
    MutexLock lock(mutex_);
    while (!status_) changed_.wait(lock);
    return *status_;
  }
  void await_pieces(int count) {
    MutexLock lock(mutex_);
    while (pieces_ < count) changed_.wait(lock);
  }
  // After wait().
  std::string text(size_t choice = 0) {
    MutexLock lock(mutex_);
    return choice < texts_.size() ? texts_[choice] : std::string();
  }
  TextPiece last(size_t choice = 0) {
    MutexLock lock(mutex_);
    return last_.at(choice);
  }
  TextUsage usage() {
    MutexLock lock(mutex_);
    return usage_;
  }
  std::vector<TextToken> tokens() {
    MutexLock lock(mutex_);
    return tokens_;
  }
  std::vector<TextToken> prompt() {
    MutexLock lock(mutex_);
    return prompt_;
  }
  int begins() {
    MutexLock lock(mutex_);
    return begins_;
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int begins_ RIDGE_GUARDED_BY(mutex_) = 0;
  int pieces_ RIDGE_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> texts_ RIDGE_GUARDED_BY(mutex_);
  std::vector<TextPiece> last_ RIDGE_GUARDED_BY(mutex_);
  std::vector<TextToken> tokens_ RIDGE_GUARDED_BY(mutex_);
  std::vector<TextToken> prompt_ RIDGE_GUARDED_BY(mutex_);
  TextUsage first_usage_ RIDGE_GUARDED_BY(mutex_), usage_ RIDGE_GUARDED_BY(mutex_);
  std::optional<Status> status_ RIDGE_GUARDED_BY(mutex_);
};

// The fake decoder, and what a test does before each of its steps.
class HookedDecoder final : public engine::Decoder {
 public:
  struct Hooks {
    std::function<Status()> before_step = [] { return ok_status(); };
    std::function<void()> on_terminate = [] {};
    std::function<void()> on_end = [] {};
  };
  HookedDecoder(std::unique_ptr<engine::Decoder> inner, Hooks hooks)
      : inner_(std::move(inner)), hooks_(std::move(hooks)) {}
  ~HookedDecoder() override { hooks_.on_end(); }
  const engine::DecoderInfo& info() const override { return inner_->info(); }
  Status reserve(int64_t blocks) override { return inner_->reserve(blocks); }
  Result<engine::Logits> step(std::span<const engine::StepSequence> sequences) override {
    RIDGE_TRY(hooks_.before_step());
    return inner_->step(sequences);
  }
  void terminate() override {
    hooks_.on_terminate();
    inner_->terminate();
  }

 private:
  const std::unique_ptr<engine::Decoder> inner_;
  const Hooks hooks_;
};

class LanguageServerTest : public testing::Test {
 protected:
  // `script`: members of decoder.fake.json beside the vocabulary.
  void add_model(const std::string& name, Json script = Json::object(), const std::string& parameters = "") const {
    write_checkpoint(name + "/1/", std::move(script));
    folder_.write(name + "/config.pbtxt", "backend: \"fake\"\n" + parameters);
  }
  void write_checkpoint(const std::string& folder, Json script = Json::object()) const {
    if (!script.contains("vocabulary")) script["vocabulary"] = kTestVocabulary;
    folder_.write(folder + "config.json", R"({"architectures": ["Fake"], "eos_token_id": 95})");
    folder_.write(folder + "tokenizer.json", test_tokenizer());
    folder_.write(folder + "decoder.fake.json", dump_json(script));
  }
  static std::string parameter(const std::string& key, const std::string& value) {
    return "parameters { key: \"" + key + "\" value { string_value: \"" + value + "\" } }\n";
  }
  ServerOptions options(ControlMode control = ControlMode::kNone) const {
    ServerOptions options;
    options.repositories = {folder_.path()};
    options.control = control;
    return options;
  }
  // Every decoder of the server has the hooks.
  static OpenDecoderFunction hooked(HookedDecoder::Hooks hooks) {
    return [hooks](const engine::DecoderPlan& plan) -> Result<std::unique_ptr<engine::Decoder>> {
      RIDGE_ASSIGN(auto inner, engine::open_decoder(plan));
      return std::unique_ptr<engine::Decoder>(std::make_unique<HookedDecoder>(std::move(inner), hooks));
    };
  }
  static std::unique_ptr<Server> started(ServerOptions options) {
    Result<std::unique_ptr<Server>> server = start(std::move(options));
    if (!server) ADD_FAILURE() << server.error().message;
    return std::move(*server);
  }
  static TextModelPtr text_model(const Server& server, const std::string& name = "m") {
    Result<TextModelPtr> model = server.text_model(name);
    if (!model) ADD_FAILURE() << model.error().message;
    return model ? *model : nullptr;
  }
  static std::string reason_of(const Server& server, const std::string& name = "m") {
    for (const IndexEntry& entry : server.index(false))
      if (entry.name == name) return entry.reason;
    return "absent";
  }

  struct Running {
    std::shared_ptr<TestSink> sink;
    std::unique_ptr<TextTicket> ticket;
  };
  static Running begin(const Server& server, TextRequest request, const std::string& name = "m") {
    Running running{std::make_shared<TestSink>(), nullptr};
    Result<std::unique_ptr<TextTicket>> ticket = text_model(server, name)->generate(std::move(request), running.sink);
    if (ticket)
      running.ticket = std::move(*ticket);
    else
      running.sink->end(ticket.error(), {});
    return running;
  }
  // The whole answer.
  static std::shared_ptr<TestSink> answer(const Server& server, TextRequest request) {
    Running running = begin(server, std::move(request));
    const Status status = running.sink->wait();
    EXPECT_TRUE(status.ok()) << status.error().message;
    return running.sink;
  }

  TestFolder folder_;
};

}  // namespace ridge::serve
