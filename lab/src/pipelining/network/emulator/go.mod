module hotlane/lab/emulator

go 1.22
