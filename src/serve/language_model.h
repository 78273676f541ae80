// LanguageModel: one loaded version of a language model: a decoder, the thread that runs its steps, and the requests in
// work. A step longer than a limit is broken off; one that does not end even then costs the version its life, and the
// process its memory (RunWatch).
//
// An allocation that fails on the step thread costs the requests that it was for, which end with 503.
//
// Thread-safe. Life: make → start() → generate()… → close() → join(). Sinks are called on the step thread, unlocked.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "engine/decoder.h"
#include "generate/scheduler.h"
#include "serve/deadline_timer.h"
#include "serve/form_filter.h"
#include "serve/language_files.h"
#include "serve/model_settings.h"
#include "serve/run_watch.h"
#include "serve/servable.h"
#include "serve/statistics.h"
#include "serve/step_bound.h"
#include "serve/text_choice.h"
#include "serve/text_inbox.h"
#include "serve/text_model.h"
#include "serve/text_statistics.h"

namespace ridge::serve {

// The parts of a version.
struct LoadedLanguageModel {
  ModelSettings settings;              // name, version, platform and tags
  std::shared_ptr<const Json> config;  // completed, as the wire has it
  LanguageFiles texts;
  std::unique_ptr<engine::Decoder> decoder;  // warm; its blocks are reserved
  generate::Settings generation;
  StepBound bound;               // empty: not known
  size_t queue_limit = 100'000;  // requests that wait for their first token
  Nanoseconds load_time{};
  uint64_t file_bytes = 0;
  std::string fingerprint;            // of everything it was loaded from: equal = need not be loaded again
  std::shared_ptr<const void> files;  // keeps temporary files alive; may be empty
};

class LanguageModel final : public Servable,
                            public TextModel,
                            public Expirable,
                            public std::enable_shared_from_this<LanguageModel> {
 public:
  // `timer` and `clock` outlive it.
  LanguageModel(LoadedLanguageModel loaded, DeadlineTimer& timer, Clock& clock, RunLimit limit = {});
  ~LanguageModel() override;
  void start();

  const ModelSettings& settings() const override { return loaded_.settings; }
  const Json& config() const override { return *loaded_.config; }
  const std::string& fingerprint() const override { return loaded_.fingerprint; }
  ModelStatistics statistics() const override;
  void abort() override;
  void close() override;
  void join() override;

  const std::string& name() const override { return loaded_.settings.name; }
  int64_t context() const override { return loaded_.generation.context; }
  int64_t created() const override { return created_; }
  const text::Tokenizer& tokenizer() const override { return loaded_.texts.tokenizer; }
  const generate::Sampling& usual_sampling() const override { return loaded_.texts.recommended.sampling; }
  bool chats() const override { return loaded_.texts.writes_chat.ok(); }
  bool random_weights() const override { return loaded_.texts.random_weights; }
  const text::AnswerForm& answer_form() const override { return loaded_.texts.answer_form; }
  Result<std::string> prompt_of(Json variables) const override;
  Result<std::unique_ptr<TextTicket>> generate(TextRequest request, std::shared_ptr<TextSink> sink) override;
  TextFigures figures() const override;

  void expire(TimePoint now) override;

 private:
  struct Stream;
  using Streams = std::map<uint64_t, std::unique_ptr<Stream>>;
  struct Place {
    Stream* stream = nullptr;
    size_t choice = 0;
  };

  void work();
  bool take_news();
  void begin(TextArrival arrival);
  void begin_stream(TextArrival arrival);
  Status add_choice(Stream& stream, size_t choice);
  generate::SharedList<int32_t> stop_tokens_of(const TextRequest& request) const;
  void cancel(uint64_t number);
  bool run(const generate::Step& step);
  bool round();
  void note_bound(const generate::Step& step, double seconds, double bound_s);
  void deliver(const generate::Event& event, TimePoint now);
  void take_event(Stream& stream, size_t index, const generate::Event& event, TimePoint now);
  Result<engine::Logits> logits_of(const generate::Step& step, TimePoint begin, double& bound_s);
  void begin_answer(Stream& stream, const generate::Event& event, TimePoint now);
  void end_choice(Stream& stream, size_t choice, generate::Finish finish, TimePoint now);
  void end_stream(Stream& stream, Status status, uint64_t TextEnds::*cause);
  void end_all(const Error& why);
  Nanoseconds now() const { return clock_.now().time_since_epoch(); }
  std::shared_ptr<LanguageModel> leave();
  void check_step(TimePoint now);
  void give_up();
  Error too_long() const;

  LoadedLanguageModel loaded_;
  DeadlineTimer& timer_;
  Clock& clock_;
  const int64_t created_;
  const std::shared_ptr<TextInbox> inbox_;
  Statistics statistics_;
  TextStatistics figures_;
  const RunLimit limit_;
  RunWatch watch_;
  FormFilters forms_;
  // Used by the step thread; when its step is given up, by the timer's.
  generate::Scheduler scheduler_;
  Streams streams_;                                 // by number
  std::unordered_map<generate::Id, Place> places_;  // of the choices that the scheduler has
  generate::Id last_id_ = 0;
  bool idle_ = true;  // the last round had nothing to run

  enum class ThreadState : uint8_t { kWorks, kGivenUp, kEnded };
  Mutex end_mutex_;
  ConditionVariable end_;
  ThreadState state_ RIDGE_GUARDED_BY(end_mutex_) = ThreadState::kEnded;
  std::shared_ptr<LanguageModel> self_ RIDGE_GUARDED_BY(end_mutex_);  // while a step that was given up goes on
  std::jthread thread_;
};

}  // namespace ridge::serve
