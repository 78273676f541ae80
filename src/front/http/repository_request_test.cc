#include "front/http/repository_request.h"

#include <gtest/gtest.h>

namespace ridge::front::http {
namespace {

TEST(RepositoryRequest, EmptyBodiesMeanDefaults) {
  for (const char* body : {"", " \r\n", "{}", R"({"parameters":{}})", R"({"parameters":null})", R"({"unknown":1})"}) {
    EXPECT_FALSE(*read_index_request(body)) << body;
    EXPECT_FALSE(*read_unload_request(body)) << body;
    auto load = read_load_request(body);
    ASSERT_TRUE(load) << body;
    EXPECT_FALSE(load->config_json);
    EXPECT_TRUE(load->files.empty());
  }
}

TEST(RepositoryRequest, ReadsItsParameters) {
  EXPECT_TRUE(*read_index_request(R"({"ready":true})"));
  EXPECT_TRUE(*read_unload_request(R"({"parameters":{"unload_dependents":true}})"));
  auto load = read_load_request(R"({"parameters":{"config":"{\"max_batch_size\":4}","file:1/model.onnx":"AAEC/w=="}})");
  ASSERT_TRUE(load) << load.error().message;
  EXPECT_EQ(load->config_json, R"({"max_batch_size":4})");
  ASSERT_EQ(load->files.size(), 1u);
  EXPECT_EQ(load->files[0].first, "1/model.onnx");
  EXPECT_EQ(load->files[0].second, std::string("\0\1\2\xff", 4));
}

TEST(RepositoryRequest, RefusesWhatIsWrong) {
  for (std::string body :
       {"[]", "{", "1", R"({"parameters":[]})", R"({"parameters":{"other":1}})", R"({"parameters":{"config":{}}})",
        R"({"parameters":{"file:1/m":"AAAA"}})", R"({"parameters":{"config":"{}","file:1/m":"A"}})",
        R"({"parameters":{"config":"{}","file:1/m":7}})"})
    EXPECT_FALSE(read_load_request(body)) << body;
  for (std::string name : {"", "../m", "1/../../m", "/etc/passwd", "1//m", "./m", "1/m/", "1\\\\m"})
    EXPECT_FALSE(read_load_request(R"({"parameters":{"config":"{}","file:)" + name + R"(":"AAAA"}})")) << name;
  EXPECT_FALSE(read_load_request(R"({"parameters":{"config":"{}","file:1/)" + std::string(256, 'a') + R"(":"AAAA"}})"));
  EXPECT_FALSE(read_index_request(R"({"ready":1})"));
  EXPECT_FALSE(read_unload_request(R"({"parameters":{"unload_dependents":"yes"}})"));
}

}  // namespace
}  // namespace ridge::front::http
