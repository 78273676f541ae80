#include "client/server_url.h"

#include <gtest/gtest.h>

namespace ridge::client {
namespace {

TEST(ServerUrl, NamesHostPortModelAndVersion) {
  const auto url = parse_server_url("http://localhost:8000/v2/models/resnet.50/versions/3");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->host, "localhost");
  EXPECT_EQ(url->port, 8000);
  EXPECT_EQ(url->prefix, "");
  EXPECT_EQ(url->model, "resnet.50");
  EXPECT_EQ(url->version, "3");
  EXPECT_EQ(model_path(*url, "/infer"), "/v2/models/resnet.50/versions/3/infer");
}

TEST(ServerUrl, AcceptsEveryFormOfTheSameAddress) {
  for (const char* text : {"http://h:1/v2/models/m", "http://h:1/v2/models/m/", "http://h:1/v2/models/m/infer"}) {
    const auto url = parse_server_url(text);
    ASSERT_TRUE(url) << text;
    EXPECT_EQ(text_of(*url), "http://h:1/v2/models/m") << text;
  }
}

TEST(ServerUrl, WithoutAModelTheServerIsMeant) {
  for (const char* text :
       {"http://h", "http://h/", "http://h:80", "http://h/v2", "http://h/v2/", "http://h/v2/models"}) {
    const auto url = parse_server_url(text);
    ASSERT_TRUE(url) << text;
    EXPECT_EQ(url->model, "") << text;
    EXPECT_EQ(text_of(*url), "http://h:80/v2") << text;
  }
}

TEST(ServerUrl, KeepsAProxysPrefixAndAnAddressOfIpv6) {
  const auto url = parse_server_url("http://[::1]:9000/serving/a/v2/models/m");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->prefix, "/serving/a");
  EXPECT_EQ(text_of(*url), "http://[::1]:9000/serving/a/v2/models/m");
}

TEST(ServerUrl, OfGrpcHasTheSamePath) {
  const auto url = parse_server_url("grpc://h:9001/v2/models/m/versions/2");
  ASSERT_TRUE(url) << url.error().message;
  EXPECT_EQ(url->scheme, Scheme::kGrpc);
  EXPECT_EQ(url->port, 9001);
  EXPECT_EQ(url->model, "m");
  EXPECT_EQ(url->version, "2");
  EXPECT_EQ(text_of(*url), "grpc://h:9001/v2/models/m/versions/2");
  EXPECT_EQ(parse_server_url("grpc://h")->port, 8001);
}

TEST(ServerUrl, AFileToDownloadIsNoServer) {
  for (const char* text : {"http://h/m.onnx", "https://h/x/v2/models/m.onnx", "http://h/v1/m.onnx#sha256=00",
                           "http://h/m.xml", "http://h/zoo/v20/m", "m.onnx", "v2/models"})
    EXPECT_FALSE(is_server_url(text)) << text;
  for (const char* text : {"http://h", "http://h:8000/", "https://h/v2/models/m", "http://h/v1/chat/completions",
                           "grpc://h:8001", "http://h/v2/models/m.v1"})
    EXPECT_TRUE(is_server_url(text)) << text;
}

TEST(ServerUrl, WhatIsNotSupportedIsRefusedWithAReason) {
  for (const char* text : {"https://h/v2/models/m", "grpcs://h:8001", "http://h/v1/models/m"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, Code::kUnsupported) << text;
  }
  for (const char* text :
       {"http://", "http://:80", "http://h:0", "http://h:70000", "http://h:x", "http://h:", "http://[::1",
        "http://h/v2/models/m/versions/x", "http://h/v2/models/m/ready", "http://h/v2/health/live",
        "http://h/v2/models/m?a", "http://u@h/v2", "http://h/other", "ftp://h", "grpc://h/proxy/v2/models/m"}) {
    const auto url = parse_server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, Code::kInvalid) << text;
  }
}

TEST(ServerUrl, NamesAnEndpointOfOpenAisApi) {
  const auto url = [](const char* text) { return parse_server_url(text).value(); };
  EXPECT_EQ(url("http://h:1/v1").endpoint, "/v1/completions");
  EXPECT_EQ(url("http://h:1/v1/completions/").endpoint, "/v1/completions");
  EXPECT_EQ(text_of(url("http://h:1/a/v1/chat/completions")), "http://h:1/a/v1/chat/completions");
  EXPECT_EQ(url("http://h:1/v2/models/m").endpoint, "");
  EXPECT_EQ(parse_server_url("http://h/v1/embeddings").error().code, Code::kUnsupported);
  EXPECT_EQ(parse_server_url("grpc://h/v1").error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::client
