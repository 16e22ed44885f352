// A manifest on a file system that fails: nothing of it is cut off.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <array>
#include <batch/manifest.hpp>
#include <batch/row.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <tests/integration/support.hpp>

namespace framewire::batch {
namespace {

/// From here on this process's pread() fails, except at the beginning of a file.
void let_reads_fail() {
  constexpr std::size_t kOffset = offsetof(seccomp_data, args) + 3 * sizeof(__u64);
  std::array<sock_filter, 6> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pread64, 0, 2),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kOffset),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EIO),
  }};
  const sock_fprog filter{program.size(), program.data()};
  const bool is_set = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  if (!is_set) std::_Exit(77);
}

TEST(ManifestReadError, KeepsAllRows) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "manifest";
  Row row;
  row.input = row.name = "a.jpg";
  row.options_hash = "00000000000000aa";
  row.outcome = Outcome::kFailed;
  row.error = Status(StatusCode::kInvalidInput, std::string(2000, 'x'));
  const std::string line = to_json_line(row);
  const std::string rows = line + line + line + "{\"torn";
  test::write_text(path, rows);
  const auto resume = [&] {
    let_reads_fail();
    const auto opened = ManifestWriter::open(path, OpenManifest::kResume);
    if (!opened) std::fputs(opened.error().to_string().c_str(), stderr);
    std::_Exit(opened ? 1 : 0);
  };
  EXPECT_EXIT(resume(), testing::ExitedWithCode(0), "cannot read the manifest");
  EXPECT_EQ(test::read_text(path), rows);
}

}  // namespace
}  // namespace framewire::batch
