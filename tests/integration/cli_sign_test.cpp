// framewire sign: paths of the image service and their signatures.
#ifdef FRAMEWIRE_SERVICE
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <tests/integration/support.hpp>

namespace framewire::test {
namespace {

using Words = std::vector<std::string>;

// Published examples of imgproxy: their signatures are known from elsewhere.
constexpr const char* kKey = "943b421c9eb07c830af81030552c86009268de4e532ba2ee2eab8247c6da0881";
constexpr const char* kSalt = "520f986b998545b4785e0defbc4f3c1203f22de2374a3d53cb7a7fe9fea309c5";
constexpr const char* kPath = "/rs:fit:300:300/plain/http://img.example.com/pretty/image.jpg";
constexpr const char* kSignature = "m3k5QADfcKPDj-SDI2AIogZbC3FlAXszuwhtWXYqavc";

Ran sign(const Words& more) {
  Words words = {"sign", "--key", kKey, "--salt", kSalt};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

std::string line(std::string_view signature, std::string_view path) {
  return "/" + std::string(signature) + std::string(path) + "\n";
}

TEST(CliSign, PrintsOnePathALine) {
  const Ran ran = sign({kPath, std::string(kPath).substr(1)});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, line(kSignature, kPath) + line(kSignature, kPath));
  EXPECT_EQ(ran.err, "");
}

TEST(CliSign, CutsSignatures) {
  EXPECT_EQ(sign({kPath, "--signature-size", "8"}).out, line("m3k5QADfcKM", kPath));
}

TEST(CliSign, SignsWhatTheServerMakesOfAPath) {
  EXPECT_EQ(sign({"/rs%3Afit%3A300%3A300/plain/http:/img.example.com/pretty/image.jpg"}).out,
            line(kSignature, kPath));
}

TEST(CliSign, ReadsSecretsFromFiles) {
  const TemporaryFolder folder;
  write_text(folder / "key", std::string(kKey) + "\n");
  write_text(folder / "salt", kSalt);
  const Words words = {"sign", "--key-file", folder / "key", "--salt-file", folder / "salt", kPath};
  for (const char* name : {"key", "salt"}) ::chmod((folder / name).c_str(), 0600);
  EXPECT_EQ(run_program(words).out, line(kSignature, kPath));
  ::chmod((folder / "key").c_str(), 0644);
  const Ran open = run_program(words);
  EXPECT_EQ(open.exit_code, 3) << open.err;
  EXPECT_EQ(open.out, "") << "others can read the key";
}

TEST(CliSign, RefusesWhatMakesNoSense) {
  const TemporaryFolder folder;
  write_text(folder / "bad", "xyz-secret");
  ::chmod((folder / "bad").c_str(), 0600);
  const std::string bad = folder / "bad";
  struct Refusal {
    Words words;
    const char* says;
  };
  const Refusal table[] = {
      {{"sign", kPath}, "--key"},
      {{"sign", "--key", kKey, kPath}, "--salt"},
      {{"sign", "--key", kKey, "--key-file", bad, "--salt", kSalt, kPath}, "either"},
      {{"sign", "--key", "abc", "--salt", kSalt, kPath}, "hexadecimal"},
      {{"sign", "--key", "", "--salt", kSalt, kPath}, "accepted: HEX"},
      {{"sign", "--key-file", bad, "--salt", kSalt, kPath}, "hexadecimal"},
      {{"sign", "--key", kKey, "--salt", kSalt}, "found 0 arguments"},
      {{"sign", "--key", kKey, "--salt", kSalt, "/"}, "empty path"},
      {{"sign", "--key", kKey, "--salt", kSalt, "/plain/http://a/b?c=d"}, "%3F"},
      {{"sign", "--key", kKey, "--salt", kSalt, "/plain/a\nb"}, "control"},
      {{"sign", "--key", kKey, "--salt", kSalt, "/plain/a#b.jpg"}, "%23"},
      {{"sign", "--key", kKey, "--salt", kSalt, "/plain/\xC3\xBC.jpg"}, "beyond ASCII"},
      {{"sign", "--key", kKey, "--salt", kSalt, kPath, "--signature-size", "33"}, "1 to 32"},
      {{"sign", "--key", kKey, "--salt", kSalt, kPath, "--signature-size", "0"}, "1 to 32"},
  };
  for (const Refusal& refusal : table) {
    const Ran ran = run_program(refusal.words);
    EXPECT_EQ(ran.exit_code, 2) << refusal.says << ": " << ran.err;
    EXPECT_EQ(ran.out, "") << refusal.says;
    EXPECT_NE(ran.err.find(refusal.says), std::string::npos) << refusal.says << ": " << ran.err;
    EXPECT_EQ(ran.err.find("xyz-secret"), std::string::npos) << "a secret in a message";
  }
}

TEST(CliSign, HelpAndManualKnowIt) {
  const Ran help = run_program({"sign", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_NE(help.out.find("--salt-file"), std::string::npos);
  EXPECT_NE(run_program({"man"}).out.find("salt\\-file"), std::string::npos);
  EXPECT_NE(run_program({"completion", "bash"}).out.find("--salt-file"), std::string::npos);
}

}  // namespace
}  // namespace framewire::test
#endif
