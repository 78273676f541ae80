#include "cli/synonyms.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>

namespace ridge::cli {
namespace {

using testing::ElementsAre;

TEST(Synonyms, BecomeTheVerbsOwnNames) {
  CLI::App app;
  std::string text;
  app.add_option("MODEL", text);
  app.add_option("--batch,-b", text);
  app.add_option("--seconds", text);
  const std::vector<std::string> given{"--model", "m.onnx", "--batch-size=4", "--duration", "3", "--port",
                                       "1",       "--",     "--model"};
  EXPECT_THAT(with_own_names(app, given),
              ElementsAre("m.onnx", "--batch=4", "--seconds", "3", "--port", "1", "--", "--model"));
  EXPECT_THAT(with_own_names(app, std::vector<std::string>{"--model=m.onnx"}), ElementsAre("m.onnx"));
}

TEST(Synonyms, AreListedOfTheVerbsOptions) {
  CLI::App app;
  std::string text;
  app.add_option("--http-port", text);
  EXPECT_THAT(synonyms_for(app), ElementsAre("--port"));
}

TEST(Synonyms, AnOptionOfTheVerbKeepsItsMeaning) {
  CLI::App app;
  std::string text;
  app.add_option("--trials", text);
  EXPECT_THAT(with_own_names(app, std::vector<std::string>{"--iterations"}), ElementsAre("--trials"));
  app.add_option("--iterations", text);
  EXPECT_THAT(with_own_names(app, std::vector<std::string>{"--iterations"}), ElementsAre("--iterations"));
}

}  // namespace
}  // namespace ridge::cli
