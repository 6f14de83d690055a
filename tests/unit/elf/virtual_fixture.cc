// Classes whose virtual functions have no symbols when this library is stripped.
namespace fixture {

// 0 and 1: the destructor; 2 area, 3 name, 4 sides.
struct Shape {
  virtual ~Shape();
  virtual int area(int size) const = 0;
  virtual const char* name() const;
  virtual int sides() const;
};
Shape::~Shape() = default;
const char* Shape::name() const { return "shape"; }
int Shape::sides() const { return 0; }

struct Circle : Shape {
  int area(int size) const override;
};
int Circle::area(int size) const { return 3 * size * size; }

struct Square : Shape {
  int area(int size) const override;
  int sides() const override;
};
int Square::area(int size) const { return size * size; }
int Square::sides() const { return 4; }

struct Listener {
  virtual ~Listener();
  virtual int hear(int sound);
};
Listener::~Listener() = default;
int Listener::hear(int sound) { return sound + 1; }

struct HearingSquare : Square, Listener {
  int hear(int sound) override;
};
int HearingSquare::hear(int sound) { return sound * 5; }

template <typename T>
struct Conv {
  virtual ~Conv() = default;
  virtual T compute(T value);
};
template <typename T>
T Conv<T>::compute(T value) {
  return value * value + 2;
}
template struct Conv<float>;
template struct Conv<long>;

namespace {
struct Hidden : Listener {
  int hear(int sound) override;
};
int Hidden::hear(int sound) { return sound ^ 0x55; }
}  // namespace

// One function for two classes with a common base, as linkers fold them: of one name to them.
struct Pair {
  virtual int first() const;
  virtual int second() const = 0;
  virtual int third() const;
};
int Pair::first() const { return 17; }
int Pair::third() const { return 19; }
struct Left : Pair {
  int first() const override;
  int second() const override asm("fixture_second");
};
int Left::first() const { return 37; }
int Left::second() const { return 18; }
struct Right : Pair {
  int first() const override;
  int second() const override asm("fixture_second");
};
int Right::first() const { return 38; }

// One function for two classes without.
struct Alone {
  virtual int key() const;
  virtual int only() const asm("fixture_only");
};
int Alone::key() const { return 22; }
int Alone::only() const { return 23; }
struct Other {
  virtual int key() const;
  virtual int only() const asm("fixture_only");
};
int Other::key() const { return 24; }

// One function twice in a class.
struct Twice {
  virtual int key() const;
  virtual int here() const asm("fixture_twice");
  virtual int there() const asm("fixture_twice");
};
int Twice::key() const { return 28; }
int Twice::here() const { return 29; }

// Its vtable is followed by a table of functions.
struct Followed {
  virtual int call() const;
};

}  // namespace fixture

// Made by hand, so that they lie side by side.
asm(".section .data.rel.ro,\"aw\"\n"
    ".balign 8\n"
    ".quad 0\n"
    ".quad _ZTIN7fixture8FollowedE\n"
    "fixture_vtable: .quad fixture_in_vtable\n"
    "fixture_table: .quad fixture_in_table, fixture_in_table_too\n"
    ".previous\n");

extern "C" {
extern int (*fixture_vtable)();
extern int (*fixture_table[2])();
int fixture_in_vtable() { return 31; }
int fixture_in_table() { return 32; }
int fixture_in_table_too() { return 33; }
}

int fixture::Followed::call() const { return 30; }

// What makes the classes, so that none is left out.
__attribute__((visibility("default"))) int UseVirtualFixture(int n) {
  using namespace fixture;
  Shape* shapes[] = {new Circle, new Square, new HearingSquare};
  Listener* listeners[] = {new Hidden, new Listener, new HearingSquare};
  Pair* pairs[] = {new Left, new Right};
  Alone alone;
  Other other;
  Twice twice;
  Followed followed;
  Conv<float> floats;
  Conv<long> longs;
  const Alone* volatile any_alone = &alone;
  const Other* volatile any_other = &other;
  const Twice* volatile any_twice = &twice;
  const Followed* volatile any_followed = &followed;
  Conv<float>* volatile any_floats = &floats;
  Conv<long>* volatile any_longs = &longs;
  return shapes[n]->area(n) + listeners[n]->hear(n) + pairs[n]->second() + any_alone->only() +
         any_other->only() + any_twice->there() + any_followed->call() + fixture_table[n]() +
         fixture_vtable() + static_cast<int>(any_floats->compute(2)) +
         static_cast<int>(any_longs->compute(3));
}

#ifdef FIXTURE_IS_PROGRAM
int main(int argc, char** /*argv*/) { return UseVirtualFixture(argc - 1) != 0 ? 0 : 1; }
#endif
