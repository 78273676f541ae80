// Measures the server's core by itself: requests per second and latency through Service::infer, in closed loop,
// without any protocol. One client thread keeps 1 or 16 requests of one row under way, as one I/O thread of a front end
// would.
//
//   serve_core [MODEL.onnx] [SECONDS]
//
// Without a model: a session that copies its input, so that nothing but ridge's own work is left. With one (x FP32
// [N,16], as `ridge make identity` writes): the real engine too.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "serve/server.h"

namespace {

using namespace ridge;

// y = x, at the price of a memcpy.
class EchoSession : public engine::Session {
 public:
  const engine::Signature& signature() const override { return signature_; }
  const engine::Info& info() const override { return info_; }
  Status run(std::span<const TensorView> inputs, std::span<const int>, std::span<engine::Output> outputs,
             engine::RunTimes*) override {
    std::memcpy(outputs[0].data.data(), inputs[0].data.data(), inputs[0].data.size());
    return {};
  }
  Result<std::vector<engine::NodeTime>> take_profile(int) override { return std::vector<engine::NodeTime>{}; }

 private:
  engine::Signature signature_{{{"x", DataType::kFp32, {-1, 16}}}, {{"y", DataType::kFp32, {-1, 16}}}};
  engine::Info info_{"echo", "1", "", "cpu", {}};
};

// The answers that have arrived, handed from worker threads to the client.
class Arrivals {
 public:
  void add(size_t slot) {
    bool first = false;
    {
      std::lock_guard lock(mutex_);
      first = slots_.empty();
      slots_.push_back(slot);
    }
    if (first) arrived_.notify_one();
  }
  void take(std::vector<size_t>& slots) {
    slots.clear();
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return !slots_.empty(); });
    std::swap(slots, slots_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<size_t> slots_;
};

struct Slot {
  TimePoint sent;
  std::shared_ptr<std::vector<float>> body = std::make_shared<std::vector<float>>(16, 1.0f);
};

void send(serve::Service& server, std::vector<Slot>& slots, size_t slot, Arrivals& arrivals) {
  serve::InferRequest request;
  request.model = "identity";
  request.inputs.push_back({"x", DataType::kFp32, {1, 16}, std::as_bytes(std::span(*slots[slot].body))});
  request.body = slots[slot].body;
  request.arrived = slots[slot].sent = SteadyClock::now();
  server.infer(std::move(request), [&arrivals, slot](Result<serve::InferResponse> answer) {
    if (!answer) std::fprintf(stderr, "%s\n", answer.error().message.c_str()), std::exit(3);
    arrivals.add(slot);
  });
}

void run(serve::Service& server, size_t concurrency, double seconds) {
  std::vector<Slot> slots(concurrency);
  std::vector<double> latencies_us;
  std::vector<size_t> arrived;
  Arrivals arrivals;
  TimePoint start = SteadyClock::now(), end = start + from_seconds(seconds);
  for (size_t slot = 0; slot < concurrency; ++slot) send(server, slots, slot, arrivals);
  size_t under_way = concurrency;
  while (under_way > 0) {
    arrivals.take(arrived);
    TimePoint now = SteadyClock::now();
    for (size_t slot : arrived) {
      latencies_us.push_back(to_seconds(now - slots[slot].sent) * 1e6);
      if (now < end) send(server, slots, slot, arrivals);
      if (now >= end) --under_way;
    }
  }
  double elapsed = to_seconds(SteadyClock::now() - start);
  auto statistics = server.statistics("identity", 0);
  double rows =
      static_cast<double>((*statistics)[0].inference_count) / static_cast<double>((*statistics)[0].execution_count);
  std::sort(latencies_us.begin(), latencies_us.end());
  std::printf("concurrency %2zu: %9.0f requests/s, p50 %6.1f us, p99 %6.1f us, %.1f rows per execution so far\n",
              concurrency, static_cast<double>(latencies_us.size()) / elapsed, latencies_us[latencies_us.size() / 2],
              latencies_us[latencies_us.size() * 99 / 100], rows);
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::string repository = (fs::temp_directory_path() / "ridge-serve-core-XXXXXX").string();
  if (::mkdtemp(repository.data()) == nullptr) return 3;
  fs::create_directories(repository + "/identity/1");
  if (argc > 1) fs::copy_file(argv[1], repository + "/identity/1/model.onnx");
  if (argc <= 1) std::ofstream(repository + "/identity/1/model.onnx");
  std::ofstream(repository + "/identity/config.pbtxt") << "max_batch_size: 64 dynamic_batching { }";
  serve::ServerOptions options;
  options.repositories = {repository};
  if (argc <= 1)
    options.open = [](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
      return std::unique_ptr<engine::Session>(std::make_unique<EchoSession>());
    };
  auto server = serve::start(options);
  if (!server || !(*server)->ready()) return std::fprintf(stderr, "the model could not be loaded\n"), 3;
  double seconds = argc > 2 ? std::atof(argv[2]) : 1.0;
  for (int repetition = 0; repetition < 3; ++repetition)
    for (size_t concurrency : {size_t{1}, size_t{16}}) run(**server, concurrency, seconds);
  (*server)->drain();
  fs::remove_all(repository);
  return 0;
}
