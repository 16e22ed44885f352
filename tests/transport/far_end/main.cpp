// The far end of a connection in a process of its own: transport_far_end NAME ADDRESS, then
// commands on standard input, one a line, each answered by a line.
#include <unistd.h>
#include <base/wait_for.hpp>
#include <iostream>
#include <string>
#include <tests/transport/connections.hpp>

int main(int count, char** words) {
  using namespace framewire::transport;
  if (count != 3) return 2;
  auto channel = connect(words[2], testing::opening_of(words[1], false).options);
  if (!channel) {
    std::cerr << channel.error().to_string() << '\n';
    return 1;
  }
  testing::Servant servant(std::make_unique<Channel>(std::move(*channel)),
                           testing::allocate_end(words[1], false, testing::kFarBytes), [] {});
  std::string line;
  while (true) {
    char c = 0;
    if (!framewire::base::wait_for(0, false, {})) {
      servant.step();
      usleep(20);
    } else if (::read(0, &c, 1) != 1) {
      return 0;
    } else if (c != '\n') {
      line += c;
    } else {
      std::cout << servant.obey(line) << std::endl;
      line.clear();
    }
  }
}
