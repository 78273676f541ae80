// OpenAiEndpoint: OpenAI's API over the language models and encoders of a Service: /v1/models, /v1/completions,
// /v1/chat/completions, /v1/embeddings, and vLLM's /tokenize and /detokenize.
//
// Requests are read, put through the template and made tokens by a few threads of their own; the answers come from the
// models' threads (OpenAiAnswer), embeddings from threads that answer inference. Thread-safe as Handler requires. The
// service must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/mutex.h"
#include "front/access.h"
#include "front/http/message.h"
#include "front/job_threads.h"
#include "front/tracer.h"
#include "serve/service.h"

namespace ridge::front::openai {

enum class OpenAiCall : uint8_t;  // request.h
struct OpenAiRequest;

struct OpenAiOptions {
  uint64_t max_input_bytes = 0;               // of a body, decoded; less where the models take less
  size_t threads = 1;                         // that read requests
  size_t most_waiting = 1;                    // requests
  std::shared_ptr<const Keys> keys = {};      // null: none are needed
  std::shared_ptr<Tracer> tracer = {};        // null: no traces
  std::shared_ptr<MemoryBudget> memory = {};  // of what is read and kept; null: any amount
};

class OpenAiEndpoint {
 public:
  OpenAiEndpoint(serve::Service& service, OpenAiOptions options);

  // Limit of a decoded body: as much as the serving models can take.
  SizeLimit body_limit(OpenAiCall call) const;
  void handle(const http::Request& request, OpenAiCall call, http::Responder responder);

 private:
  struct Call;
  void run(Call& call);
  Result<serve::TextModelPtr> model_of(const std::string& name) const;
  Result<serve::EncoderPtr> encoder_of(const std::string& name) const;
  Result<OpenAiRequest> read(Call& call, const Body& body, std::string& about) const;
  void generate(Call& call, OpenAiRequest request, uint64_t body_bytes);
  void embed(Call& call, OpenAiRequest request);
  void log_unknown(const std::vector<std::string>& members);

  serve::Service& service_;
  const OpenAiOptions options_;
  Mutex mutex_;
  std::set<std::string> unknown_ RIDGE_GUARDED_BY(mutex_);  // members of requests that the log has named
  JobThreads threads_;                                      // last: ends first
};

// GET /v1/models.
http::Response models_response(const serve::Service& service);
// Card of one of them; null: no model has that name.
Json model_card(const serve::Service& service, const std::string& model);

}  // namespace ridge::front::openai
