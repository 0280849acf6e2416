from wocar.cli import main

main()
