#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <batch/posix_file.hpp>
#include <cerrno>
#include <commands/report/parquet.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace framewire::app {

Result<ParquetWriter> ParquetWriter::start(const std::string& file) {
  const char* named = std::getenv("FRAMEWIRE_PYTHON");
  const std::string python = named == nullptr || *named == '\0' ? "python3" : named;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(batch::io_error(python, "make a pipe to", errno));
  }
  const base::FileDescriptor child_end(ends[0]);
  base::FileDescriptor our_end(ends[1]);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, child_end.get(), STDIN_FILENO);
  // What it prints is the report's alone.
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  std::array<std::string, 4> words = {python, "-c", to_parquet_script(), file};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(),
                                    words[3].data(), nullptr};
  pid_t process = -1;
  const int error =
      ::posix_spawnp(&process, python.c_str(), &files, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  if (error != 0) {
    return fail(Status(StatusCode::kIoError,
                       fmt::format("--parquet needs Python with pyarrow: cannot start: {}; "
                                   "accepted: python3 in PATH, or its path in FRAMEWIRE_PYTHON",
                                   std::strerror(error)))
                    .about(python));
  }
  return ParquetWriter(std::move(our_end), process);
}

ParquetWriter::~ParquetWriter() {
  if (process_ < 0) return;
  ::kill(process_, SIGTERM);
  (void)wait();
}

void ParquetWriter::add(std::string_view shard, const std::string& manifest) {
  std::string words(shard);
  words += '\0';
  words += manifest;
  words += '\0';
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(words.data());
  (void)batch::write_all(names_.get(), {bytes, words.size()});
}

bool ParquetWriter::finish() {
  names_ = base::FileDescriptor();
  return wait() == 0;
}

int ParquetWriter::wait() {
  int status = -1;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return status;
}

}  // namespace framewire::app
