#include "front/http/api.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/log.h"
#include "front/content_coding.h"
#include "front/fake_service.h"
#include "front/http/infer_response.h"
#include "front/http/server.h"
#include "front/http/test_client.h"

namespace ridge::front::http {
namespace {

constexpr std::string_view kJson =
    R"({"id":"7","inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":[1,2.5]}],"outputs":[{"name":"y"}]})";

class ApiTest : public testing::Test {
 protected:
  ApiTest() {
    ApiOptions options{.server_version = "1.2", .max_input_bytes = 100'000, .io_threads = 2};
    auto api = std::make_shared<Api>(service_, options, threads_, [](TimePoint) { return std::string("nv_x 1\n"); });
    auto server = Server::start({.listen = {"127.0.0.1", 0}, .threads = 2}, api);
    EXPECT_TRUE(server);
    server_ = std::move(*server);
    client_ = std::make_unique<TestClient>(server_->port());
  }

  ClientResponse ask(const std::string& bytes) {
    auto response = client_->ask(bytes);
    EXPECT_TRUE(response) << bytes.substr(0, 200);
    return response.value_or(ClientResponse{});
  }
  nlohmann::json ask_json(const std::string& bytes, int status = 200) {
    ClientResponse response = ask(bytes);
    EXPECT_EQ(response.status, status) << bytes.substr(0, 200) << "\n" << response.body;
    EXPECT_EQ(response.fields["content-type"], "application/json") << bytes.substr(0, 200);
    nlohmann::json json = nlohmann::json::parse(response.body, nullptr, false);
    EXPECT_FALSE(json.is_discarded()) << response.body;
    if (status != 200) {
      EXPECT_FALSE(json.value("error", "").empty()) << response.body;
      EXPECT_EQ(json.size(), 1u);
    }
    return json;
  }

  FakeService service_;
  ControlThreads threads_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<TestClient> client_;
};

TEST_F(ApiTest, TellsItsHealth) {
  EXPECT_EQ(ask_json(get("/v2/health/live"))["live"], true);
  EXPECT_EQ(ask_json(get("/v2/health/ready"))["ready"], true);
  EXPECT_EQ(ask_json(get("/health"))["ready"], true);
  EXPECT_EQ(ask_json(get("/v2/models/echo/ready")), nlohmann::json({{"name", "echo"}, {"ready", true}}));
  ask_json(get("/v2/models/nope/ready"), 404);
  service_.is_ready = false;
  ask_json(get("/v2/health/ready"), 503);
  ask_json(get("/health"), 503);
}

TEST_F(ApiTest, RegistersShowsAndUnregistersRegions) {
  EXPECT_EQ(ask_json(get("/v2/systemsharedmemory/status")), nlohmann::json::array());
  ask_json(post("/v2/systemsharedmemory/region/r%201/register", R"({"key":"/k","offset":8,"byte_size":64})"));
  EXPECT_EQ(service_.registered.at("r 1").key, "/k");
  const nlohmann::json system = {{{"name", "r 1"}, {"key", "/k"}, {"offset", 8}, {"byte_size", 64}}};
  EXPECT_EQ(ask_json(get("/v2/systemsharedmemory/status")), system);
  EXPECT_EQ(ask_json(get("/v2/systemsharedmemory/region/r%201/status")), system);
  ask_json(get("/v2/systemsharedmemory/region/other/status"), 404);
  ask_json(post("/v2/systemsharedmemory/region/r/register", R"({"key":"/absent","byte_size":64})"), 400);
  ask_json(post("/v2/systemsharedmemory/region/r/register", ""), 400);
  const std::string handle =
      R"({"raw_handle":{"b64":")" + std::string(84, 'A') + R"(AA=="},"device_id":1,"byte_size":4})";
  ask_json(post("/v2/cudasharedmemory/region/on_gpu/register", handle));
  EXPECT_EQ(service_.registered.at("on_gpu").handle, std::string(64, '\0'));
  EXPECT_EQ(ask_json(get("/v2/cudasharedmemory/status")),
            nlohmann::json({{{"name", "on_gpu"}, {"device_id", 1}, {"byte_size", 4}}}));
  ask_json(post("/v2/cudasharedmemory/unregister", ""));
  ask_json(post("/v2/systemsharedmemory/region/unknown/unregister", ""));
  EXPECT_EQ(service_.registered.size(), 1u);
  ask_json(post("/v2/systemsharedmemory/unregister", ""));
  EXPECT_TRUE(service_.registered.empty());
}

TEST_F(ApiTest, SharedMemoryThatIsNotAllowedIsNeitherNamedNorUsed) {
  ApiOptions options{.shared_memory = ClientPolicy::kNone};
  auto server =
      Server::start({.listen = {"127.0.0.1", 0}},
                    std::make_shared<Api>(service_, options, threads_, [](TimePoint) { return std::string(); }));
  ASSERT_TRUE(server);
  client_ = std::make_unique<TestClient>((*server)->port());
  const nlohmann::json metadata = ask_json(get("/v2"));
  for (const auto& extension : metadata["extensions"])
    EXPECT_EQ(extension.get<std::string>().find("shared_memory"), std::string::npos);
  ask_json(post("/v2/systemsharedmemory/region/r/register", R"({"key":"/k","byte_size":64})"), 501);
  EXPECT_TRUE(service_.registered.empty());
  ask_json(get("/v2/systemsharedmemory/status"), 501);
  const std::string part = R"("parameters":{"shared_memory_region":"r","shared_memory_byte_size":8})";
  const std::string input = R"({"name":"x","shape":[1,2],"datatype":"FP32",)";
  ask_json(post("/v2/models/echo/infer", R"({"inputs":[)" + input + part + "}]}"), 501);
  ask_json(post("/v2/models/echo/infer",
                R"({"inputs":[)" + input + R"("data":[1,2]}],"outputs":[{"name":"y",)" + part + "}]}"),
           501);
  ask_json(post("/v2/models/echo/infer", kJson));
}

TEST_F(ApiTest, ModelsAreLoadedForClientsThatAreAllowedIt) {
  ApiOptions options{.model_control = ClientPolicy::kNone};
  auto server =
      Server::start({.listen = {"127.0.0.1", 0}},
                    std::make_shared<Api>(service_, options, threads_, [](TimePoint) { return std::string(); }));
  ASSERT_TRUE(server);
  client_ = std::make_unique<TestClient>((*server)->port());
  for (const char* call : {"load", "unload"})
    ask_json(post(std::string("/v2/repository/models/echo/") + call, "{}"), 503);
  ask_json(post("/v2/repository/index", ""));
  EXPECT_TRUE(check_control_allowed(ClientPolicy::kThisMachine, true));
  EXPECT_FALSE(check_control_allowed(ClientPolicy::kThisMachine, false));
  EXPECT_TRUE(check_control_allowed(ClientPolicy::kAll, false));
}

TEST_F(ApiTest, ALoadIsRefusedAtOnceWhileWarmUpsTakeAllThatMayGoOn) {
  for (const char* model : {"a", "b", "c"}) service_.warm_up_long(model);
  EXPECT_EQ(ask(post("/v2/repository/models/echo/load", "{}")).status, 200);
  service_.warm_up_long("endless");
  const nlohmann::json refused = ask_json(post("/v2/repository/models/echo/load", "{}"), 503);
  EXPECT_NE(refused["error"].get<std::string>().find("'endless'"), std::string::npos) << refused;
  EXPECT_EQ(ask(post("/v2/repository/models/echo/unload", "{}")).status, 200);
}

// Reading such a list as JSON takes 20 times its memory.
TEST_F(ApiTest, ReadsNoBodyOfALoadThatTheServerRefuses) {
  service_.control = Error{Code::kUnavailable, "this server loads nothing on request"};
  const nlohmann::json refused = ask_json(post("/v2/repository/models/m/load", "this is not read"), 503);
  EXPECT_EQ(refused["error"], "failed to load 'm', this server loads nothing on request");
  ask_json(post("/v2/repository/models/m/unload", "this is not read"), 503);
}

TEST_F(ApiTest, ShowsAndChangesTheLog) {
  const log::Level before = log::level();
  log::set_level(log::Level::kInfo);
  EXPECT_EQ(ask_json(get("/v2/logging"))["log_info"], true);
  EXPECT_EQ(ask_json(post("/v2/logging", R"({"log_info":false,"log_file":null})"))["log_info"], false);
  EXPECT_EQ(log::level(), log::Level::kWarning);
  ask_json(post("/v2/logging", R"({"log_file":"/tmp/x"})"), 400);
  ask_json(post("/v2/logging", R"({"log_info":[]})"), 400);
  ask_json(post("/v2/logging", "[]"), 400);
  log::set_level(before);
  EXPECT_FALSE(check_log_allowed(ClientPolicy::kThisMachine, false));
}

TEST_F(ApiTest, DescribesServerAndModels) {
  nlohmann::json server = ask_json(get("/v2/"));
  EXPECT_EQ(server["name"], "ridge");
  EXPECT_EQ(server["version"], "1.2");
  EXPECT_EQ(
      server["extensions"],
      nlohmann::json({"binary_tensor_data", "classification", "model_configuration", "model_repository",
                      "model_repository(unload_dependents)", "statistics", "logging", "sequence", "sequence(string_id)",
                      "schedule_policy", "parameters", "system_shared_memory", "cuda_shared_memory"}));
  nlohmann::json model = ask_json(get("/v2/models/echo"));
  EXPECT_EQ(model["versions"], nlohmann::json({"1"}));
  EXPECT_EQ(model["inputs"][0], nlohmann::json({{"name", "x"}, {"datatype", "FP32"}, {"shape", {-1, 16}}}));
  EXPECT_EQ(ask_json(get("/v2/models/echo/config"))["max_batch_size"], 0);
  ask_json(get("/v2/models/nope"), 404);
  ask_json(get("/v2/models/echo/versions/9"), 404);
  ask_json(get("/v2/models/echo/versions/0"), 400);
}

TEST_F(ApiTest, RefusesPostsOfPagesOfOtherServers) {
  const auto index = [](const std::string& fields) {
    return "POST /v2/repository/index HTTP/1.1\r\nHost: t:1\r\nContent-Length: 0\r\n" + fields + "\r\n";
  };
  for (const char* fields :
       {"Origin: https://evil\r\n", "Origin: null\r\n", "Origin: http://t\r\n", "Sec-Fetch-Site: cross-site\r\n"})
    EXPECT_EQ(ask(index(fields)).status, 403) << fields;
  for (const char* fields : {"", "Origin: http://T:1\r\n", "Sec-Fetch-Site: same-origin\r\n"})
    EXPECT_EQ(ask(index(fields)).status, 200) << fields;
}

TEST_F(ApiTest, APageThatReachesALocalServerUnderANameOfItsOwnIsNotOfThisMachine) {
  const auto load = [](const std::string& host, const std::string& fields) {
    return "POST /v2/repository/models/echo/load HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 2\r\n" + fields +
           "\r\n{}";
  };
  const std::string page = "Sec-Fetch-Site: same-origin\r\n";
  EXPECT_EQ(ask(load("evil.example:8000", page)).status, 503);
  EXPECT_EQ(ask(load("evil.example:8000", "Origin: http://evil.example:8000\r\n")).status, 503);
  EXPECT_EQ(ask(load("notlocalhost:8000", page)).status, 503);
  for (const char* host : {"localhost:8000", "Models.LocalHost", "127.0.0.1:8000", "[::1]:8000"})
    EXPECT_EQ(ask(load(host, page)).status, 200) << host;
  EXPECT_EQ(ask(load("this-machine:8000", "")).status, 200) << "no browser";
}

TEST_F(ApiTest, CallsOfOperatorsAreShort) {
  const std::string text = "{\"ready\":false" + std::string(70'000, ' ') + "}";  // the limit of inputs is 100,000
  for (const char* path :
       {"/v2/repository/index", "/v2/repository/models/echo/unload", "/v2/systemsharedmemory/unregister"})
    EXPECT_EQ(ask_json(post(path, text), 413)["error"].get<std::string>().find("--"), std::string::npos) << path;
  Response response;
  response.text = std::string(1 << 20, ' ');
  apply_coding(response, Coding::kGzip);
  const Json packed = ask_json(post("/v2/repository/index", response.text, "Content-Encoding: gzip\r\n"), 413);
  EXPECT_EQ(packed["error"].get<std::string>().find("--"), std::string::npos) << "no option sets this limit";
  const Json load = ask_json(post("/v2/repository/models/echo/load", std::string(100'001, ' ')), 413);
  EXPECT_NE(load["error"].get<std::string>().find("--http-max-input-size"), std::string::npos);
  EXPECT_NE(ask(post("/v2/repository/models/echo/load", "{\"parameters\":{}" + std::string(70'000, ' ') + "}")).status,
            413);
}

TEST_F(ApiTest, ReportsStatisticsWithAllEightDurations) {
  serve::ModelStatistics statistics;
  statistics.name = "echo";
  statistics.version = 1;
  statistics.inference_count = 5;
  statistics.success = {3, 4000};
  statistics.batches.push_back({2, {1, 10}, {1, 20}, {1, 30}});
  service_.model_statistics.push_back(statistics);
  for (const char* path : {"/v2/models/stats", "/v2/models/echo/stats", "/v2/models/echo/versions/1/stats"}) {
    nlohmann::json model = ask_json(get(path))["model_stats"][0];
    EXPECT_EQ(model["version"], "1");
    EXPECT_EQ(model["inference_count"], 5);
    EXPECT_EQ(model["inference_stats"]["success"], nlohmann::json({{"count", 3}, {"ns", 4000}}));
    for (const char* name :
         {"success", "fail", "queue", "compute_input", "compute_infer", "compute_output", "cache_hit", "cache_miss"}) {
      EXPECT_TRUE(model["inference_stats"][name]["count"].is_number_unsigned()) << name;
      EXPECT_TRUE(model["inference_stats"][name]["ns"].is_number_unsigned()) << name;
    }
    EXPECT_EQ(model["batch_stats"][0]["compute_infer"]["ns"], 20);
    EXPECT_TRUE(model["response_stats"].is_object());
    EXPECT_TRUE(model["memory_usage"].is_array());
  }
  ask_json(get("/v2/models/nope/stats"), 404);
}

TEST_F(ApiTest, InfersFromJson) {
  nlohmann::json answer = ask_json(post("/v2/models/echo/infer", kJson));
  EXPECT_EQ(answer["model_name"], "echo");
  EXPECT_EQ(answer["model_version"], "1");
  EXPECT_EQ(answer["id"], "7");
  EXPECT_EQ(answer["outputs"][0]["data"], nlohmann::json({1.0, 2.5}));
  EXPECT_FALSE(ask_json(post("/v2/models/echo/infer", R"({"id":"","inputs":[]})")).contains("id"));
}

TEST_F(ApiTest, InfersFromBinaryTensors) {
  std::string json = R"({"inputs":[{"name":"x","shape":[2],"datatype":"UINT8","parameters":{"binary_data_size":2}}],)"
                     R"("parameters":{"binary_data_output":true}})";
  std::string length = std::to_string(json.size());
  for (std::string name : {"Inference-Header-Content-Length", "inference-header-content-length"}) {
    ClientResponse answer = ask(post("/v2/models/echo/infer", json + "\1\2", name + ": " + length + "\r\n"));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.fields["content-type"], "application/octet-stream");
    size_t header = std::stoul("0" + answer.fields["inference-header-content-length"]);
    EXPECT_EQ(nlohmann::json::parse(answer.body.substr(0, header))["outputs"][0]["parameters"]["binary_data_size"], 2);
    EXPECT_EQ(answer.body.substr(header), "\1\2");
  }
}

TEST_F(ApiTest, RefusesBadHeaderLengths) {
  for (std::string bad : {"-1", "abc", "1000", "5", ""})
    ask_json(post("/v2/models/echo/infer", kJson, "Inference-Header-Content-Length: " + bad + "\r\n"), 400);
  EXPECT_EQ(ask(post("/v2/models/echo/infer", kJson,
                     "Inference-Header-Content-Length: " + std::to_string(kJson.size()) + "\r\n"))
                .status,
            200);
}

TEST_F(ApiTest, TakesRawRequests) {
  ClientResponse answer =
      ask(post("/v2/models/echo/infer", std::string(128, 'a'), "Inference-Header-Content-Length: 0\r\n"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_TRUE(answer.body.ends_with(std::string(128, 'a')));
  EXPECT_NE(answer.body.find("\"shape\":[2,16]"), std::string::npos) << answer.body;
  ask_json(post("/v2/models/echo/infer", std::string(63, 'a'), "Inference-Header-Content-Length: 0\r\n"), 400);
  ask_json(post("/v2/models/nope/infer", std::string(64, 'a'), "Inference-Header-Content-Length: 0\r\n"), 404);
  ask_json(post("/v2/models/echo/infer", ""), 400);
}

TEST_F(ApiTest, ReadsAndWritesCompressedBodies) {
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(kJson))};
  for (Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    std::string name(coding_name(coding));
    std::string body = encode(coding, pieces);
    std::string fields = "Content-Encoding: " + name + "\r\nAccept-Encoding: " + name + "\r\n";
    ClientResponse answer = ask(post("/v2/models/echo/infer", body, fields));
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.fields["content-encoding"], name);
    Body plain;
    ASSERT_TRUE(decode(coding, std::as_bytes(std::span(answer.body)), {1 << 20}, plain));
    EXPECT_EQ(nlohmann::json::parse(plain.text())["id"], "7");
    body[body.size() - 6] ^= 1;
    ask_json(post("/v2/models/echo/infer", body, "Content-Encoding: " + name + "\r\n"), 400);
  }
  ask_json(post("/v2/models/echo/infer", kJson, "Content-Encoding: br\r\n"), 415);
  EXPECT_EQ(ask(post("/v2/models/echo/infer", kJson, "Accept-Encoding: gzip;q=0\r\n")).fields.count("content-encoding"),
            0u);
}

TEST_F(ApiTest, LimitsJsonAndDecodedBodies) {
  ask_json(post("/v2/models/echo/infer", std::string(100'001, ' ')), 413);
  std::string zeros(1'000'000, ' ');
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(zeros))};
  ask_json(post("/v2/models/echo/infer", encode(Coding::kGzip, pieces), "Content-Encoding: gzip\r\n"), 413);
  std::string json =
      R"({"inputs":[{"name":"x","shape":[200000],"datatype":"UINT8","parameters":{"binary_data_size":200000}}]})";
  std::string field = "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
  EXPECT_EQ(ask(post("/v2/models/echo/infer", json + std::string(200'000, '\1'), field)).status, 200)
      << "binary tensors are not limited";
}

TEST_F(ApiTest, TurnsErrorsIntoStatuses) {
  ask_json(post("/v2/models/broken/infer", kJson), 500);
  ask_json(post("/v2/models/full/infer", kJson), 503);
  EXPECT_EQ(ask(post("/v2/models/full/infer", kJson)).fields["retry-after"], "1");
  EXPECT_EQ(ask(post("/v2/models/busy/infer", kJson)).fields["retry-after"], "3") << "2.1 s in whole seconds";
  nlohmann::json unknown = ask_json(post("/v2/models/nope/infer", kJson), 404);
  EXPECT_EQ(unknown["error"], "Request for unknown model: 'nope' is not found");
  ask_json(post("/v2/models/echo/infer", "{"), 400);
  ask_json(post("/v2/models/echo/infer", R"({"inputs":[{"name":"x","shape":[1],"datatype":"INT8","data":[300]}]})"),
           400);
  ask_json(get("/v2/models/echo/infer"), 405);
  ask_json(get("/v2/nothing"), 404);
  ask_json(post("/v2/models/%FF%FE/infer", kJson), 404);
}

TEST_F(ApiTest, AnswersFromWorkerThreadsInOrder) {
  client_->send(post("/v2/models/slow/infer", kJson) + post("/v2/models/echo/infer", kJson));
  while (service_.waiting() == 0) std::this_thread::yield();
  service_.release();
  EXPECT_EQ(nlohmann::json::parse(client_->read()->body)["model_name"], "slow");
  EXPECT_EQ(nlohmann::json::parse(client_->read()->body)["model_name"], "echo");
}

TEST_F(ApiTest, SurvivesAnswersToClientsAndServersThatHaveGone) {
  client_->send(post("/v2/models/slow/infer", kJson));
  while (service_.waiting() == 0) std::this_thread::yield();
  client_->close();
  TestClient other(server_->port());
  other.send(post("/v2/models/slow/infer", kJson));
  while (service_.waiting() < 2) std::this_thread::yield();
  EXPECT_FALSE(server_->drain(std::chrono::milliseconds(20)));
  server_.reset();
  service_.release();
}

TEST_F(ApiTest, ControlsTheRepository) {
  nlohmann::json index = ask_json(post("/v2/repository/index", ""));
  EXPECT_EQ(index[0], nlohmann::json({{"name", "echo"}, {"version", "1"}, {"state", "READY"}}));
  EXPECT_EQ(index[1], nlohmann::json({{"name", "never"}}));
  EXPECT_EQ(ask_json(post("/v2/repository/index", R"({"ready":true})")).size(), 1u);
  ask_json(post("/v2/repository/models/echo/load", R"({"parameters":{"config":"{}","file:1/a":"QUJD"}})"));
  EXPECT_EQ(service_.loaded.files.at(0).second, "ABC");
  nlohmann::json missing = ask_json(post("/v2/repository/models/missing/load", "{}"), 404);
  EXPECT_EQ(missing["error"], "failed to load 'missing', no such folder");
  nlohmann::json wrong = ask_json(post("/v2/repository/models/echo/load", R"({"parameters":{"x":1}})"), 400);
  EXPECT_TRUE(wrong["error"].get<std::string>().starts_with("failed to load 'echo', "));
  ask_json(post("/v2/repository/models/echo/unload", R"({"parameters":{"unload_dependents":true}})"));
  EXPECT_TRUE(service_.unload_dependents);
  ask_json(post("/v2/repository/r/index", ""), 501);
}

TEST_F(ApiTest, ScrapesThatCameTogetherMayShareTheirText) {
  std::vector<TimePoint> asked;
  auto server = Server::start({.listen = {"127.0.0.1", 0}}, std::make_shared<MetricsApi>([&asked](TimePoint at) {
                                asked.push_back(at);
                                return std::string("nv_y 2\n");
                              }));
  ASSERT_TRUE(server) << server.error().message;
  TestClient client((*server)->port());
  client.send(get("/metrics") + get("/metrics") + get("/metrics"));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.read());
  client.send(get("/metrics"));
  ASSERT_TRUE(client.read());
  ASSERT_EQ(asked.size(), 4u);
  EXPECT_EQ(asked[0], asked[2]) << "they were there at the same time";
  EXPECT_LT(asked[2], asked[3]);
}

TEST_F(ApiTest, ServesMetricsOnBothPorts) {
  ClientResponse metrics = ask(get("/metrics"));
  EXPECT_EQ(metrics.body, "nv_x 1\n");
  EXPECT_TRUE(metrics.fields["content-type"].starts_with("text/plain"));
  auto server = Server::start({.listen = {"127.0.0.1", 0}},
                              std::make_shared<MetricsApi>([](TimePoint) { return std::string("nv_y 2\n"); }));
  TestClient client((*server)->port());
  EXPECT_EQ(client.ask(get("/metrics"))->body, "nv_y 2\n");
  EXPECT_EQ(client.ask(get("/v2"))->status, 404);
  EXPECT_EQ(client.ask(post("/metrics", ""))->status, 405);
}

}  // namespace
}  // namespace ridge::front::http
