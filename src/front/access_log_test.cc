#include "front/access_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/temporary_folder.h"

namespace ridge::front {
namespace {

const AnsweredCall kCall{.client = "10.0.0.7",
                         .key = "shop",
                         .method = "POST",
                         .path = "/v2/models/m/infer",
                         .model = "m",
                         .status = "200",
                         .bytes_in = 12,
                         .bytes_out = 34,
                         .duration = std::chrono::microseconds(1234),
                         .request_id = "r 1\n\"",
                         .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736"};
constexpr std::chrono::system_clock::time_point kTime{std::chrono::milliseconds(1'700'000'000'042)};

TEST(AccessLog, ALineOfTextHasItsFieldsAndNoTextOfAClientThatLooksLikeMore) {
  EXPECT_EQ(access_line(kCall, kTime),
            "2023-11-14T22:13:20.042Z 10.0.0.7 shop \"POST /v2/models/m/infer\" m 200 12 34 1.234 r\\x201\\x0a\\x22 "
            "4bf92f3577b34da6a3ce929d0e0e4736\n");
  EXPECT_EQ(access_line({.client = "unix", .method = "GET", .path = "/", .status = "404"}, kTime),
            "2023-11-14T22:13:20.042Z unix - \"GET /\" - 404 0 0 0.000 - -\n");
}

TEST(AccessLog, ALineOfJsonHasTheSameFields) {
  log::set_format(log::Format::kJson);
  const std::string line = access_line(kCall, kTime);
  log::set_format(log::Format::kText);
  const Result<Json> json = parse_json(line, "the line");
  ASSERT_TRUE(json) << line;
  EXPECT_EQ(*json, (Json{{"time", "2023-11-14T22:13:20.042Z"},
                         {"client", "10.0.0.7"},
                         {"key", "shop"},
                         {"method", "POST"},
                         {"path", "/v2/models/m/infer"},
                         {"model", "m"},
                         {"status", "200"},
                         {"bytes_in", 12},
                         {"bytes_out", 34},
                         {"duration_ms", 1.234},
                         {"request_id", "r 1\n\""},
                         {"trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"}}));
}

TEST(AccessLog, FollowsTheFilesNameAndKeepsWhatWasThere) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const std::string file = folder->path() + "/access", old = file + ".1";
  ASSERT_TRUE(write_file_atomically(file, "before\n"));
  {
    const auto log = AccessLog::open(file);
    ASSERT_TRUE(log);
    (*log)->record(kCall);
    (*log)->flush();
    std::filesystem::rename(file, old);
    (*log)->record({.method = "GET", .path = "/second"});
  }
  EXPECT_NE(read_file(old, 1000)->find("before\n20"), std::string::npos);
  EXPECT_EQ(read_file(old, 1000)->find("/second"), std::string::npos);
  EXPECT_NE(read_file(file, 1000)->find("\"GET /second\""), std::string::npos);
}

// Lines that the log's writer got.
std::vector<std::string> logged;

TEST(AccessLog, WritesThatFailAreInTheLogOnceUntilOneSucceeds) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder);
  const std::string name = folder->path() + "/access", file = folder->path() + "/file";
  auto point_to = [&](const std::string& target) {
    std::filesystem::create_symlink(target, name + ".new");
    std::filesystem::rename(name + ".new", name);
  };
  point_to("/dev/full");
  log::set_writer([](log::Level, std::string_view message) { logged.emplace_back(message); });
  {
    const auto access = AccessLog::open(name);
    ASSERT_TRUE(access);
    auto lose_two = [&] {
      for (int i = 0; i < 2; ++i) {
        (*access)->record(kCall);
        (*access)->flush();
      }
    };
    lose_two();
    EXPECT_EQ(logged.size(), 1u);
    point_to(file);
    (*access)->record({.method = "GET", .path = "/second"});
    (*access)->flush();
    point_to("/dev/full");
    lose_two();
  }
  log::set_writer(nullptr);
  ASSERT_EQ(logged.size(), 2u);
  EXPECT_EQ(logged[0],
            "--access-log " + name + ": No space left on device; lines are dropped until they can be written");
  EXPECT_EQ(logged[1], logged[0]);
  const std::string text = read_file(file, 1000).value();
  EXPECT_TRUE(text.starts_with("# 2 lines of the access log dropped: they could not be written\n")) << text;
  EXPECT_NE(text.find("/second"), std::string::npos);
}

TEST(AccessLog, AFileThatCannotBeOpenedIsAnErrorThatNamesIt) {
  const auto log = AccessLog::open("/nowhere/access");
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().code, Code::kFailed);
  EXPECT_NE(log.error().message.find("/nowhere/access"), std::string::npos);
}

}  // namespace
}  // namespace ridge::front
